/**
 * Splits a yielded value over the chunk limit into several chunks (docs/reference/worker-protocol.md#streaming). Works
 * on the raw JSON text, without decoding it.
 */
import { BACKSLASH, LETTER_U, OPEN_BRACKET, QUOTE } from '@slipway/kit/bytes/json-bytes';
import { itemEnds } from '@slipway/kit/bytes/json-items';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';

const LETTER_D = 0x64;

/**
 * Returns the JSON text of `value` in pieces of at most `bytesMax` bytes: a string is split between code points, an
 * array between its elements. A small value is one piece. `undefined` if the value cannot be split. The text must be
 * valid JSON without whitespace around it.
 */
export function* splitChunk(value: Buffer, bytesMax: number): Work<Buffer[] | undefined> {
  if (value.length <= bytesMax) return [value];
  if (value[0] === QUOTE) return yield* splitText(value, bytesMax);
  if (value[0] === OPEN_BRACKET) return yield* splitArray(value, bytesMax);
  return undefined;
}

/**
 * Returns the number of elements of the outermost array, counted up to `most`; 0 if the value is not an array. The text
 * must be valid JSON.
 */
export function* elementCount(value: Buffer, most: number): Work<number> {
  const { kind, items } = yield* scanJson(value);
  return kind === 'array' ? Math.min(items, most) : 0;
}

/** Returns the beginning of a JSON string as a JSON string of at most `bytesMax` bytes. */
export function cutText(value: Buffer, bytesMax: number): Buffer {
  return quoted(value, 1, pieceEnd(value, 1, bytesMax));
}

function* splitText(value: Buffer, bytesMax: number): Work<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let start = 1; start < value.length - 1; ) {
    const end = pieceEnd(value, start, bytesMax);
    pieces.push(quoted(value, start, end));
    start = end;
    yield;
  }
  return pieces;
}

function quoted(value: Buffer, start: number, end: number): Buffer {
  return Buffer.concat([value.subarray(0, 1), value.subarray(start, end), value.subarray(0, 1)]);
}

/** Returns the end of the piece that begins at `start`: as late as possible, but between two code points. */
function pieceEnd(value: Buffer, start: number, bytesMax: number): number {
  const last = Math.min(start + bytesMax - 2, value.length - 1);
  let at = start;
  for (let next = at; next <= last && at < value.length - 1; next = at + unitLength(value, at)) at = next;
  return at;
}

/**
 * Returns the length in bytes of the code point that starts at `at`: an escape, an escaped surrogate pair, or a UTF-8
 * sequence.
 */
function unitLength(text: Buffer, at: number): number {
  const first = text[at]!;
  if (first === BACKSLASH) {
    if (text[at + 1] !== LETTER_U) return 2;
    return isHighSurrogate(text, at) && isLowSurrogate(text, at + 6) ? 12 : 6;
  }
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** Returns true for \ud800 to \udbff. */
function isHighSurrogate(text: Buffer, at: number): boolean {
  const digit = surrogateDigit(text, at);
  return digit === 0x38 || digit === 0x39 || digit === 0x61 || digit === 0x62;
}

/** Returns true for \udc00 to \udfff. */
function isLowSurrogate(text: Buffer, at: number): boolean {
  const digit = surrogateDigit(text, at);
  return digit >= 0x63 && digit <= 0x66;
}

/** Returns the digit after \ud, in lower case; 0 if there is no such escape. */
function surrogateDigit(text: Buffer, at: number): number {
  return text[at] === BACKSLASH && text[at + 1] === LETTER_U && (text[at + 2]! | 0x20) === LETTER_D
    ? text[at + 3]! | 0x20
    : 0;
}

function* splitArray(value: Buffer, bytesMax: number): Work<Buffer[] | undefined> {
  const pieces: Buffer[] = [];
  let start = 1;
  let end = 1;
  for (const elementEnd of itemEnds(value)) {
    if (elementEnd === undefined) {
      yield;
      continue;
    }
    if (elementEnd - start > bytesMax - 2) {
      // The element alone may still fit. If it does not, the value can only be rejected.
      if (end > start) pieces.push(wrap(value, start, end));
      start = end === 1 ? 1 : end + 1;
      if (elementEnd - start > bytesMax - 2) return undefined;
    }
    end = elementEnd;
  }
  pieces.push(wrap(value, start, end));
  return pieces;
}

function wrap(value: Buffer, start: number, end: number): Buffer {
  return Buffer.concat([Buffer.from('['), value.subarray(start, end), Buffer.from(']')]);
}
