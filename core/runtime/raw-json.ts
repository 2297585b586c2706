/**
 * Finds the raw text of the top-level members of a JSON object, so that a member can travel on byte for byte: parsing and writing it
 * again would change large numbers and cost time. Used on both edges, for `input` and for `output`.
 */

/** Where a member's value stands in the text: [start, end). */
export interface RawSpan {
  start: number;
  end: number;
}

/** What was found in a JSON object. */
export interface RawObject {
  /** Members by name; of a repeated name the last, as JSON.parse has it. */
  members: Map<string, RawSpan>;
  /** Deepest nesting of arrays and objects in the text, the outer object counting 1. */
  depth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Scans the UTF-8 text of a JSON object. The text must already have passed JSON.parse as an object: this scan trusts its grammar and
 * only keeps track of strings and nesting.
 */
export function scanRawObject(text: Uint8Array): RawObject {
  const members = new Map<string, RawSpan>();
  let depth = 0;
  let deepest = 0;
  let keyStart = -1;
  let key: string | undefined;
  let valueStart = -1;
  const close = (end: number): void => {
    if (key !== undefined) members.set(key, trim(text, valueStart, end));
    key = undefined;
    keyStart = -1;
  };
  for (let i = 0; i < text.length; i += 1) {
    const byte = text[i]!;
    if (byte === QUOTE) {
      const end = stringEnd(text, i);
      if (depth === 1 && key === undefined && keyStart === -1) keyStart = i;
      if (depth === 1 && key === undefined && text[skipSpace(text, end)] === COLON) {
        key = JSON.parse(Buffer.from(text.buffer, text.byteOffset + keyStart, end - keyStart).toString()) as string;
        i = skipSpace(text, end);
        valueStart = i + 1;
      } else i = end - 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 1) close(i);
      depth -= 1;
    } else if (byte === COMMA && depth === 1) close(i);
  }
  return { members, depth: deepest };
}

/** The bytes of one member, or undefined when it is missing. A view, not a copy. */
export function rawMember(text: Buffer, object: RawObject, name: string): Buffer | undefined {
  const span = object.members.get(name);
  return span && text.subarray(span.start, span.end);
}

function stringEnd(text: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== QUOTE) i += text[i] === BACKSLASH ? 2 : 1;
  return i + 1;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function skipSpace(text: Uint8Array, from: number): number {
  let i = from;
  while (isSpace(text[i])) i += 1;
  return i;
}

function trim(text: Uint8Array, from: number, to: number): RawSpan {
  let end = to;
  while (end > from && isSpace(text[end - 1])) end -= 1;
  return { start: skipSpace(text, from), end };
}
