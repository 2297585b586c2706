/** Splits the raw text of a JSON array into its elements. The text must be valid and begin with the bracket. */
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-bytes.ts';

/** Bytes between two pauses. */
const STEP_BYTES = 32 * 1024;

/** Yields the end offset of each element of the outermost array, exclusive; `undefined` for a pause. */
export function* itemEnds(value: Uint8Array): Generator<number | undefined> {
  let depth = 0;
  let inText = false;
  let pauseAt = STEP_BYTES;
  for (let i = 0; i < value.length; i += 1) {
    if (i >= pauseAt) {
      pauseAt = i + STEP_BYTES;
      yield undefined;
    }
    const byte = value[i]!;
    if (inText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth -= 1;
      if (depth === 0) yield i;
    } else if (byte === COMMA && depth === 1) yield i;
  }
}
