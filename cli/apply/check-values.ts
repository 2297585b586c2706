/** Checks the values of a file before anything is sent: each fault has its path, and what is allowed there. */
import { envFault } from '@slipway/facades/resources/env-names';
import type { Form, Section, Setting } from './sections.ts';
import { SECTIONS, SETTINGS } from './sections.ts';

/** Form of the mark of `owner`. */
export const OWNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const TOP = ['owner', ...SECTIONS];
const ENV_NAME = /^[^=\0]+$/;

/** Returns the faults of a file, one a line. */
export function faultsOf(value: unknown): string[] {
  if (!isRecord(value)) return [`must be a mapping with some of ${TOP.join(', ')}`];
  return Object.entries(value).flatMap(([name, section]) => {
    if (name === 'owner') return ownerFaults(section);
    if (!SECTIONS.includes(name as Section)) return [`${name}: is not known${meant(name, TOP)}`];
    if (section === null) return [];
    if (!isRecord(section)) return [`${name}: must be a mapping from names to settings`];
    return Object.entries(section).flatMap(([entry, settings]) => entryFaults(name as Section, entry, settings));
  });
}

function ownerFaults(value: unknown): string[] {
  if (typeof value === 'string' && OWNER.test(value)) return [];
  return ['owner: must be 1 to 63 letters, digits, dots and hyphens'];
}

function entryFaults(section: Section, name: string, value: unknown): string[] {
  const path = pathOf(section, name);
  if (name === '' || name.length > 191 || name === '__proto__') return [`${path}: a name has 1 to 191 characters`];
  const faults = settingsFaults(path, SETTINGS[section], value ?? {});
  const given = isRecord(value) ? value : {};
  const sources = Object.keys(given).filter((setting) => /From(Env|File)$/.test(setting));
  if (sources.length > 1) faults.push(`${path}: give one of ${sources.join(' and ')}`);
  if (section === 'endpoints' && isRecord(given['template']) && given['env'] !== undefined)
    faults.push(`${path}.env: belongs into ${path}.template.env, as this endpoint alone runs that template`);
  return faults;
}

function settingsFaults(path: string, settings: readonly Setting[], value: unknown): string[] {
  if (!isRecord(value)) return [`${path}: must be a mapping of settings`];
  const names = settings.map(({ name }) => name);
  const missing = settings.filter(({ name, required }) => required && value[name] === undefined);
  return [
    ...missing.map(({ name }) => `${path}: needs ${name}`),
    ...Object.entries(value).flatMap(([name, one]) => {
      const setting = settings.find((known) => known.name === name);
      if (!setting) return [`${pathOf(path, name)}: is not known${meant(name, names)}`];
      return formFaults(pathOf(path, name), setting, one);
    }),
  ];
}

function formFaults(path: string, { form, min, max }: Setting, value: unknown): string[] {
  const must = (isRight: boolean, what: string): string[] => (isRight ? [] : [`${path}: must be ${what}`]);
  const isText = typeof value === 'string';
  switch (form.is) {
    case 'text': {
      const { min: shortest = 0, max: longest } = form;
      const length = `a text of ${shortest} to ${longest} characters`;
      return must(isText && value.length >= shortest && value.length <= longest, length);
    }
    case 'whole': {
      const isWhole = typeof value === 'number' && Number.isInteger(value);
      return must(isWhole && value >= (min ?? 0) && value <= (max ?? Infinity), boundsText(min, max));
    }
    case 'flag':
    case 'switch':
      return must(typeof value === 'boolean', 'true or false');
    case 'word': {
      const words = Object.keys(form.words);
      return must(isText && words.includes(value), `one of ${words.join(', ')}`);
    }
    case 'texts':
    case 'command':
      return textsFaults(path, form, value);
    case 'variables':
      return variablesFaults(path, value);
    case 'settings':
      if (form.orName && isText) return must(value !== '', 'a name, or settings');
      return settingsFaults(path, form.settings, value);
  }
}

function textsFaults(path: string, form: Form, value: unknown): string[] {
  if (!Array.isArray(value)) return [`${path}: must be a list of texts`];
  const pattern = form.is === 'texts' ? form.pattern : undefined;
  return value.flatMap((item: unknown, index) => {
    if (typeof item !== 'string') return [`${path}[${index}]: must be a text${quoteHint(item)}`];
    return pattern === undefined || new RegExp(pattern).test(item) ? [] : [`${path}[${index}]: must match ${pattern}`];
  });
}

function variablesFaults(path: string, value: unknown): string[] {
  if (!isRecord(value)) return [`${path}: must be a mapping from names to texts`];
  const lost = envFault(value as Record<string, string>);
  return [
    ...(lost === undefined ? [] : [`${path}: ${lost}`]),
    ...Object.entries(value).flatMap(([name, one]) => {
      if (!ENV_NAME.test(name)) return [`${path}: ${JSON.stringify(name)} is not a name for a variable`];
      return typeof one === 'string' ? [] : [`${pathOf(path, name)}: must be a text${quoteHint(one)}`];
    }),
  ];
}

function quoteHint(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? `; quote it: "${value}"` : '';
}

function boundsText(min = 0, max = Infinity): string {
  return max === Infinity ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`;
}

/** Returns a path with one more name, quoted where it could be misread. */
function pathOf(path: string, name: string): string {
  return /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name.slice(0, 64))}]`;
}

/** Returns a suggestion for an unknown name, or the known ones. */
function meant(name: string, known: readonly string[]): string {
  const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_]|s$/g, '');
  const wanted = plain(name);
  const like = known.find((word) => plain(word) === wanted) ?? known.find((word) => isNear(plain(word), wanted));
  return like === undefined ? `; known: ${known.join(', ')}` : `; did you mean ${like}?`;
}

/** Returns whether one letter is wrong, missing, added, or swapped with the next. */
function isNear(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  const swapped = restA.length > 1 && restA[0] === restB[1] && restA[1] === restB[0];
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (swapped && restA.slice(2) === restB.slice(2))
  );
}

/** Returns whether a value is a mapping. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
