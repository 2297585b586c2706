/**
 * Messages of OTLP (protobuf) as texts of which each character is one byte: V8 joins texts without copying them, and
 * one call writes what was joined. Numbers of fields are those of opentelemetry/proto/trace/v1 and common/v1.
 */

/** Attributes of a span. Never put in data of users: no input, no output, no key. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Texts that are the same in UTF-8: nearly all of a span's. */
const ASCII = /^[\0-\x7f]*$/;
/** Longest value whose header is cached: ids and names. */
const REMEMBERED_LENGTH_MAX = 64;
const UINT64_BITS = 64;

/** Headers of text attributes, by key and by length. Keys come from the code and are few. */
const begins = new Map<string, string[]>();

/**
 * Returns the UTF-8 bytes of a text. Half a character, left by a cut, is replaced: a collector would reject the whole
 * request for it.
 */
export function bytesOf(value: string): string {
  return ASCII.test(value) ? value : Buffer.from(value.toWellFormed()).toString('latin1');
}

/** Encodes a non-negative integer. */
export function varint(value: number): string {
  let bytes = '';
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 0x80)) bytes += String.fromCharCode((left % 0x80) + 0x80);
  return bytes + String.fromCharCode(left);
}

/** Encodes a length-delimited field. `tag`: field number and wire type. */
export function field(tag: string, bytes: string): string {
  return tag + varint(bytes.length) + bytes;
}

/** Encodes all of `Span.attributes`. */
export function attributesOf(attributes: Attributes): string {
  let all = '';
  for (const key in attributes) {
    const value = attributes[key]!;
    all += typeof value === 'string' ? textOf(key, bytesOf(value)) : attribute(key, valueOf(value));
  }
  return all;
}

function textOf(key: string, bytes: string): string {
  const { length } = bytes;
  if (length > REMEMBERED_LENGTH_MAX) return attribute(key, field('\n', bytes));
  let known = begins.get(key);
  if (!known) begins.set(key, (known = []));
  known[length] ??= attribute(key, field('\n', ' '.repeat(length))).slice(0, -length || undefined);
  return known[length] + bytes;
}

function attribute(key: string, value: string): string {
  return field('J', field('\n', bytesOf(key)) + field('\x12', value));
}

/** Encodes an `AnyValue`. It is a oneof, so a zero is written too. */
function valueOf(value: number | boolean): string {
  if (typeof value === 'boolean') return value ? '\x10\x01' : '\x10\0';
  if (!Number.isSafeInteger(value)) return `!${double(value)}`;
  return `\x18${value < 0 ? negative(value) : varint(value)}`;
}

function negative(value: number): string {
  let bytes = '';
  let left = BigInt.asUintN(UINT64_BITS, BigInt(value));
  for (; left > 0x7fn; left >>= 7n) bytes += String.fromCharCode(Number(left & 0x7fn) + 0x80);
  return bytes + String.fromCharCode(Number(left));
}

function double(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes.toString('latin1');
}
