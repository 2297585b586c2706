/** Reports repeated events at growing intervals: the first time, the second, the fourth, the eighth … */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';

/** Most different texts that are remembered. */
const TEXTS_MAX = 100;

/** Counters by text. */
export class Repeats {
  readonly #times = boundedCache<string, number>(TEXTS_MAX);

  /**
   * Returns how often this text has occurred, ignoring numbers in it; `undefined` if it need not be reported this time.
   */
  count(text: string): number | undefined {
    const key = text.replace(/0x[0-9a-f]+|\d+/gi, '#');
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    return Number.isInteger(Math.log2(times)) ? times : undefined;
  }
}

/**
 * Makes foreign text safe for the terminal: control characters would move the cursor or change colours. Line ends and
 * tabs stay.
 */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');
}
