/**
 * Ids of log lines. An id is the line's time in milliseconds with a count of the lines of that millisecond, so that a
 * reader can continue after any line.
 */

/** Position from which a reader continues. */
export interface LinePosition {
  /** Earlier lines are left out. */
  since: Date | undefined;
  /** Id of the last line that the reader has. */
  lastId: string;
}

export class LineIds {
  #ms = Number.NaN;
  #count = 0;

  /** Returns the id of the next line, in the order of writing: `2026-01-31T12:00:00.123000004Z`. Ids sort as texts. */
  next(time: Date): string {
    this.#count = time.getTime() === this.#ms ? this.#count + 1 : 0;
    this.#ms = time.getTime();
    return time.toISOString().replace('Z', `${String(this.#count).padStart(6, '0')}Z`);
  }
}

/** Returns whether the reader already has the line, or asked for later ones. */
export function isBehind(time: Date, id: string, { since, lastId }: LinePosition): boolean {
  return (since !== undefined && time < since) || (lastId !== '' && id <= lastId);
}
