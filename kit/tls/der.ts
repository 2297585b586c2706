/** DER, as far as certificates need it: writes values, and reads nested ones with every length checked. */

const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OID = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
/** First year that needs four digits. */
const LONG_YEAR = 2050;

/** Returns a value with its tag and length. */
export function value(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), length(content.length), content]);
}

function length(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.of(bytes);
  const digits = Buffer.from(bytes.toString(16).padStart(bytes > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.of(0x80 | digits.length), digits]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => value(SEQUENCE, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => value(SET, ...parts);
export const boolean = (flag: boolean): Buffer => value(BOOLEAN, Buffer.of(flag ? 0xff : 0));
/** Encodes an INTEGER. `bytes`: big-endian, not negative. */
export const integer = (bytes: Uint8Array): Buffer =>
  value(INTEGER, bytes[0]! & 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
export const octets = (...parts: readonly Uint8Array[]): Buffer => value(OCTET_STRING, ...parts);
export const utf8 = (text: string): Buffer => value(UTF8, Buffer.from(text));
/** Encodes a BIT STRING. `unused`: bits of the last byte that do not count. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => value(BIT_STRING, Buffer.of(unused), bytes);
/** Encodes a context-specific value: explicit (constructed) or implicit (primitive). */
export const tagged = (number: number, content: Uint8Array, explicit = true): Buffer =>
  value((explicit ? 0xa0 : 0x80) | number, content);

/** Returns an object identifier such as `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return value(OID, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

/** Returns a time, to the second. */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')}`;
  return Number(digits.slice(0, 4)) < LONG_YEAR
    ? value(UTC_TIME, Buffer.from(digits.slice(2)))
    : value(GENERALIZED_TIME, Buffer.from(digits));
}

/** A value that was read. */
interface DerValue {
  tag: number;
  content: Buffer;
  /** Tag, length and content. */
  whole: Buffer;
}

/** Returns the values that follow each other in `bytes`. Throws RangeError if a length does not fit. */
export function readValues(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const short = bytes.readUInt8(at + 1);
    const digits = short < 0x80 ? 0 : short & 0x7f;
    if (short >= 0x80 && (digits === 0 || digits > 2)) throw new RangeError('unsupported length');
    const from = at + 2 + digits;
    const to = from + (digits === 0 ? short : bytes.readUIntBE(at + 2, digits));
    if (to > bytes.length) throw new RangeError('value is longer than what holds it');
    values.push({ tag, content: bytes.subarray(from, to), whole: bytes.subarray(at, to) });
    at = to;
  }
  return values;
}

/** Returns the values inside a sequence. Throws RangeError if it is none. */
export function readSequence(found: DerValue | undefined): DerValue[] {
  if (found?.tag !== SEQUENCE) throw new RangeError('no sequence');
  return readValues(found.content);
}

/** Returns the bytes of a bit string of whole bytes. Throws RangeError if it is none. */
export function readBits(found: DerValue | undefined): Buffer {
  if (found?.tag !== BIT_STRING || found.content[0] !== 0) throw new RangeError('no bit string');
  return found.content.subarray(1);
}
