/**
 * Finds the new part of a log of which only the last bytes can be read: an agent keeps the end of each log and numbers
 * nothing. As long as the whole log fits into the window, its length shows which bytes are new. After that the old
 * window is searched for the beginning of the new one. If a log repeats itself for a whole window, repetitions are
 * lost.
 */

/** Bytes of the new window that are searched for: enough to be rare. */
const ANCHOR_BYTES = 64;
const NEWLINE = 10;

/** Returns the new bytes of `after`, which was read after `before`. Both are windows of `windowBytes`. */
export function newBytes(before: Buffer, after: Buffer, windowBytes: number): Buffer {
  if (before.length < windowBytes && startsWith(after, before)) return after.subarray(before.length);
  const anchor = after.subarray(0, ANCHOR_BYTES);
  for (let start = before.indexOf(anchor); start !== -1; start = before.indexOf(anchor, start + 1)) {
    if (startsWith(after, before.subarray(start))) return after.subarray(before.length - start);
  }
  // More was written between two reads than the window holds.
  return after;
}

/** Returns the last `lines` lines of a log. Text after the last line end counts as one line. */
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
