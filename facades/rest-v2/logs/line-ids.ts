/**
 * Ids of lines are their times, in milliseconds and a count of those that arrived together, so that a reader can go on
 * behind any of them.
 */

/** Where a reader goes on. */
export interface LinePosition {
  /** Lines before it are left out. */
  since: Date | undefined;
  /** The id of the last line that it has. */
  lastId: string;
}

export class LineIds {
  #ms = Number.NaN;
  #count = 0;

  /**
   * Of the next line, in the order in which they were written: `2026-01-31T12:00:00.123000004Z`. They rise as texts do.
   */
  next(time: Date): string {
    this.#count = time.getTime() === this.#ms ? this.#count + 1 : 0;
    this.#ms = time.getTime();
    return time.toISOString().replace('Z', `${String(this.#count).padStart(6, '0')}Z`);
  }
}

/** The reader has it, or asked for later ones. */
export function isBehind(time: Date, id: string, { since, lastId }: LinePosition): boolean {
  return (since !== undefined && time < since) || (lastId !== '' && id <= lastId);
}
