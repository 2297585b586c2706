/** Bounds the bytes that wait for some work. */

import type { BudgetMeter } from '../observe/budget-metrics.ts';
import { OverloadError } from './batcher.ts';

export class ByteBudget {
  readonly #name: string;
  readonly #max: number;
  #used = 0;

  /** `max`: limit in bytes. `meter`: default none. */
  constructor(name: string, max: number, meter?: BudgetMeter) {
    this.#name = name;
    this.#max = max;
    meter?.watch(name, () => ({ bytes: this.#used, bytesMax: max }));
  }

  /**
   * Counts `bytes` while `work` runs, which must not throw. Rejects with OverloadError if the budget is used up. A
   * single item may exceed the budget.
   */
  hold<Result>(bytes: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#used > 0 && this.#used + bytes > this.#max) return Promise.reject(new OverloadError(this.#name));
    this.#used += bytes;
    const give = (): void => {
      this.#used -= bytes;
    };
    const result = work();
    result.then(give, give);
    return result;
  }
}
