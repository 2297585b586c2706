/**
 * What is new in a log of which only the last bytes can be read: an agent keeps the end of each log and numbers
 * nothing. As long as all of it fits into the window its length says what is new; after that the old window is searched
 * in the new one. Where a log repeats itself for a whole window, repetitions are lost.
 */

/** How much of a window is searched for: long enough to be rare. */
const ANCHOR_BYTES = 64;
const NEWLINE = 10;

/** The new bytes of `after`, which was read after `before`, both with windows of `windowBytes`. */
export function newBytes(before: Buffer, after: Buffer, windowBytes: number): Buffer {
  if (before.length < windowBytes && startsWith(after, before)) return after.subarray(before.length);
  const anchor = after.subarray(0, ANCHOR_BYTES);
  for (let start = before.indexOf(anchor); start !== -1; start = before.indexOf(anchor, start + 1)) {
    if (startsWith(after, before.subarray(start))) return after.subarray(before.length - start);
  }
  // More was written between two looks than the window holds.
  return after;
}

/** The last `lines` lines of a log; what follows the last line end counts as one. */
export function lastLines(log: Buffer, lines: number): Buffer {
  if (lines === 0) return log.subarray(log.length);
  let start = log.length;
  for (let found = 0; start > 0; start -= 1) {
    if (log[start - 1] === NEWLINE && start < log.length) found += 1;
    if (found === lines) break;
  }
  return log.subarray(start);
}

function startsWith(log: Buffer, part: Buffer): boolean {
  return log.subarray(0, part.length).equals(part);
}
