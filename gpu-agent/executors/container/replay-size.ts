/** Estimates how much of a container's output the engine's log still has, to decide whether it can be replayed. */

/**
 * Bytes of an engine's log up to which it certainly still has all output: the log is bounded, and output that is
 * longer cannot be joined without doubt.
 */
const REPLAY_BYTES_MAX = 2_000_000;
/** Bytes that an engine's log adds to each line, at most: time, stream, quotes. */
const LOG_LINE_BYTES = 128;
const NEWLINE = 10;

export class ReplaySize {
  /** Bytes of output so far. */
  outputBytes = 0;
  /** Estimated bytes in the engine's log; not counted beyond the limit. */
  #logBytes = 0;

  /** Counts a piece of output. */
  add(bytes: Buffer): void {
    this.outputBytes += bytes.length;
    if (this.isWhole) this.#logBytes += bytes.length + linesOf(bytes) * LOG_LINE_BYTES;
  }

  /** The engine's log still has all output. */
  get isWhole(): boolean {
    return this.#logBytes <= REPLAY_BYTES_MAX;
  }
}

/** Returns the lines of a piece of output, an unfinished last line included. */
function linesOf(bytes: Buffer): number {
  let lines = 1;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
