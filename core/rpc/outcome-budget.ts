/** Memory for outcomes that are arriving, in all and of one machine: none may keep those of others out. */

import type { BudgetMeter } from '../runtime/budget-metrics.ts';

/** Bytes that may be in memory at once. */
const BYTES_MAX = 256 * 1024 * 1024;
/** Of one machine: more than its agent sends at a time. */
const MACHINE_BYTES_MAX = BYTES_MAX / 4;

export class OutcomeBudget {
  readonly #bytesMax: number;
  readonly #machineBytesMax: number;
  readonly #of = new Map<string, number>();
  #all = 0;

  /** `meter`: default nobody counts. */
  constructor({ bytesMax = BYTES_MAX, machineBytesMax = MACHINE_BYTES_MAX, meter }: { bytesMax?: number; machineBytesMax?: number; meter?: BudgetMeter } = {}) {
    this.#bytesMax = bytesMax;
    this.#machineBytesMax = machineBytesMax;
    meter?.watch('incoming outcomes', () => ({ bytes: this.#all, bytesMax }));
  }

  /** Takes room until `give`. False: there is not as much, and nothing is taken. */
  reserve(machineId: string, bytes: number): boolean {
    const own = (this.#of.get(machineId) ?? 0) + bytes;
    if (own > this.#machineBytesMax || this.#all + bytes > this.#bytesMax) return false;
    this.#of.set(machineId, own);
    this.#all += bytes;
    return true;
  }

  /** Gives back what `take` took. */
  release(machineId: string, bytes: number): void {
    const own = (this.#of.get(machineId) ?? 0) - bytes;
    if (own > 0) this.#of.set(machineId, own);
    else this.#of.delete(machineId);
    this.#all -= bytes;
  }
}
