/** Cuts a yielded value over the chunk limit into several (compat.md 1.7): pure, on the raw JSON text, without decoding it. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const LETTER_U = 0x75;

/**
 * The JSON text of `value` in pieces of at most `bytesMax`: a text is cut between code points, an array between its elements. One piece
 * when it is small enough. Undefined when it cannot be cut. The text must be valid JSON without blanks around it.
 */
export function splitChunk(value: Buffer, bytesMax: number): Buffer[] | undefined {
  if (value.length <= bytesMax) return [value];
  if (value[0] === QUOTE) return splitText(value, bytesMax);
  if (value[0] === OPEN_BRACKET) return splitArray(value, bytesMax);
  return undefined;
}

function splitText(value: Buffer, bytesMax: number): Buffer[] {
  const quote = value.subarray(0, 1);
  const end = value.length - 1;
  const pieces: Buffer[] = [];
  let start = 1;
  let at = 1;
  while (at < end) {
    const next = at + unitLength(value, at);
    if (next - start > bytesMax - 2) {
      pieces.push(Buffer.concat([quote, value.subarray(start, at), quote]));
      start = at;
    }
    at = next;
  }
  pieces.push(Buffer.concat([quote, value.subarray(start, end), quote]));
  return pieces;
}

/** Bytes of the code point that starts at `at`: an escape, an escaped surrogate pair, or a UTF-8 sequence. */
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

function isHighSurrogate(text: Buffer, at: number): boolean {
  return /^\\u[dD][89abAB]/.test(text.toString('latin1', at, at + 4));
}

function isLowSurrogate(text: Buffer, at: number): boolean {
  return /^\\u[dD][c-fC-F]/.test(text.toString('latin1', at, at + 4));
}

function splitArray(value: Buffer, bytesMax: number): Buffer[] | undefined {
  const pieces: Buffer[] = [];
  let start = 1;
  let end = 1;
  for (const elementEnd of elementEnds(value)) {
    if (elementEnd - start > bytesMax - 2) {
      // The element alone may still fit; an element that does not can only be refused.
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

/** Where each element of the outermost array ends. */
function* elementEnds(value: Buffer): Generator<number> {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < value.length; i += 1) {
    const byte = value[i]!;
    if (inText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1;
      if (depth === 0) yield i;
    } else if (byte === COMMA && depth === 1) yield i;
  }
}
