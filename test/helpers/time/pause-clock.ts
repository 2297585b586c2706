/** A clock of tests that keeps the pauses that were asked for. */
import type { Timer } from '@slipway/kit/time/clock';
import { ManualClock } from './manual-clock.ts';
import { waitFor } from './wait-for.ts';

export class PauseClock extends ManualClock {
  readonly pauses: number[] = [];

  override after(ms: number, fn: () => void): Timer {
    this.pauses.push(ms);
    return super.after(ms, fn);
  }

  /** Waits for the n-th pause, and ends it. Returns its milliseconds. */
  async end(n: number): Promise<number> {
    await waitFor(`pause ${n}`, () => this.pauses.length > n);
    this.pass(this.pauses[n]!);
    return this.pauses[n]!;
  }
}
