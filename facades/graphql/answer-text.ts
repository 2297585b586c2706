/**
 * Writes the answer to a document as JSON, in pieces: a document may ask for the same long list under many names, and
 * the text of all of them at once would keep the facade from every other request.
 */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { CoreError } from '@slipway/proto/wire/reason';

/** Most bytes of an answer. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of a piece. */
const PIECE_BYTES = 64 * 1024;
/** Size up to which an answer is written at once, which takes less than a millisecond. */
const SMALL_BYTES = 256 * 1024;

/** Returns the refusal of an answer with more than ANSWER_BYTES_MAX. */
export function answerTooLong(): CoreError {
  const text = `The answer has more than ${ANSWER_BYTES_MAX / 1024 ** 2} MiB; ask for less in one document.`;
  return new CoreError('INVALID_REQUEST', text);
}

/** Returns whether the answer is so small that it is written at once. Looks at no more of it than that takes. */
export function isSmallAnswer(answer: object): boolean {
  return roomAfter(answer, SMALL_BYTES) > 0;
}

/** Writes an answer. Yields after each piece. Throws INVALID_REQUEST if it is longer than ANSWER_BYTES_MAX. */
export function* answerText(answer: object): Work<Buffer[]> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let text = '';
  for (const part of partsOf(answer)) {
    text += part;
    if (text.length < PIECE_BYTES) continue;
    bytes += pieces[pieces.push(Buffer.from(text)) - 1]!.length;
    text = '';
    if (bytes > ANSWER_BYTES_MAX) throw answerTooLong();
    yield;
  }
  pieces.push(Buffer.from(text));
  return pieces;
}

/** Returns the bytes that are left of `room` after a value, roughly. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - 8 - value.length;
  if (typeof value !== 'object' || value === null) return room - 8;
  let left = room - 8;
  for (const key in value) {
    left = roomAfter((value as Record<string, unknown>)[key], left - 8 - key.length);
    if (left <= 0) break;
  }
  return left;
}

/** Yields the text in parts. Objects and lists without others in them are written as a whole. */
function* partsOf(value: unknown): Generator<string, void, undefined> {
  if (!isNested(value)) return yield JSON.stringify(value) ?? 'null';
  const isList = Array.isArray(value);
  let separator = isList ? '[' : '{';
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined && !isList) continue;
    yield isList ? separator : `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    yield* partsOf(member);
  }
  yield isList ? ']' : '}';
}

function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object' && member !== null) return true;
  }
  return false;
}
