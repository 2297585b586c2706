/** Bounds the bytes that wait somewhere. */
import { OverloadError } from './batcher.ts';
import type { BudgetMeter } from './budget-metrics.ts';

export class ByteBudget {
  readonly #name: string;
  readonly #max: number;
  #used = 0;

  /** `max` in bytes. `meter`: default nobody counts. */
  constructor(name: string, max: number, meter?: BudgetMeter) {
    this.#name = name;
    this.#max = max;
    meter?.watch(name, () => ({ bytes: this.#used, bytesMax: max }));
  }

  /** Holds `bytes` while `work` runs, which must not throw. OverloadError: the budget is spent. A single holder may be larger than the budget. */
  hold<Result>(bytes: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#used > 0 && this.#used + bytes > this.#max) return Promise.reject(new OverloadError(this.#name));
    this.#used += bytes;
    const give = (): void => { this.#used -= bytes; };
    const result = work();
    result.then(give, give);
    return result;
  }
}
