/** Memory budget for arriving outcomes, in all and per machine: no machine may block the others. */

import type { BudgetMeter } from '@slipway/kit/observe/budget-metrics';

/** Bytes that may be in memory at once. */
const BYTES_MAX = 256 * 1024 * 1024;
/** Bytes of one machine: more than its agent sends at a time. */
const MACHINE_BYTES_MAX = BYTES_MAX / 4;

export class OutcomeBudget {
  readonly #bytesMax: number;
  readonly #machineBytesMax: number;
  readonly #of = new Map<string, number>();
  #all = 0;

  /** `meter`: reports the fill. Default: no metrics. */
  constructor({
    bytesMax = BYTES_MAX,
    machineBytesMax = MACHINE_BYTES_MAX,
    meter,
  }: { bytesMax?: number; machineBytesMax?: number; meter?: BudgetMeter } = {}) {
    this.#bytesMax = bytesMax;
    this.#machineBytesMax = machineBytesMax;
    meter?.watch('incoming outcomes', () => ({ bytes: this.#all, bytesMax }));
  }

  /** Reserves bytes until `release`. Returns false, and reserves nothing, if the budget is used up. */
  reserve(machineId: string, bytes: number): boolean {
    const own = (this.#of.get(machineId) ?? 0) + bytes;
    if (own > this.#machineBytesMax || this.#all + bytes > this.#bytesMax) return false;
    this.#of.set(machineId, own);
    this.#all += bytes;
    return true;
  }

  /** Releases reserved bytes. */
  release(machineId: string, bytes: number): void {
    const own = (this.#of.get(machineId) ?? 0) - bytes;
    if (own > 0) this.#of.set(machineId, own);
    else this.#of.delete(machineId);
    this.#all -= bytes;
  }
}
