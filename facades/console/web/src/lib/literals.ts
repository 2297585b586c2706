/** Writes JSON values as literals of other languages, for code samples. */
import { isRawNumber } from '@slipway/kit/bytes/exact-json';

/** Digits that a number of JavaScript always keeps. */
const DIGITS_MAX = 15;

/** Returns a Python literal. A JSON string is one. */
export function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object' || isRawNumber(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${pythonLiteral(member)}`);
  return `{${members.join(', ')}}`;
}

/** Returns a JavaScript literal. */
export function javascriptLiteral(value: unknown): string {
  if (typeof value === 'string') return /^[^'\\\n\r\u2028\u2029]*$/.test(value) ? `'${value}'` : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(javascriptLiteral).join(', ')}]`;
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : JSON.stringify(name);
    return `${key}: ${javascriptLiteral(member)}`;
  });
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Returns true if a parsed value has a number that JavaScript, unlike JSON, cannot hold. */
export function isRounded(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!isRawNumber(value)) return Object.values(value).some(isRounded);
  const text = JSON.stringify(value);
  const digits = text.replace(/e.*/i, '').replaceAll(/\D/g, '').replace(/^0+/, '');
  return digits.length > DIGITS_MAX || !Number.isFinite(Number(text));
}
