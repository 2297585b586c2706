/**
 * Extends the leases of the machines whose sessions this replica holds: all heartbeats that arrive together are one statement. A heartbeat
 * is answered only when its extension is committed, so an agent never believes in a lease that the database does not know.
 */
import { Batcher } from '../runtime/batcher.ts';
import type { BatchMeter } from '../runtime/batcher.ts';
import type { Clock } from '../runtime/clock.ts';
import type { MachineBeat } from '../store/machine-store.ts';
import type { Stores } from '../store/storage.ts';

const MACHINES_MAX = 1_000;
const WAITING_MAX = 100_000;

export class LeaseRenewer {
  readonly #batcher: Batcher<MachineBeat, boolean>;

  constructor(machines: Pick<Stores['machines'], 'extend'>, clock: Clock, meter?: BatchMeter) {
    this.#batcher = new Batcher({
      name: 'lease extensions',
      meter,
      clock,
      itemsMax: MACHINES_MAX,
      waitingMax: WAITING_MAX,
      async flush(beats) {
        const extended = await machines.extend(beats);
        return beats.map(({ sessionId }) => extended.has(sessionId));
      },
    });
  }

  /** Extends a lease. False: another session speaks for the machine now. Rejects when the database cannot be reached. */
  extend(beat: MachineBeat): Promise<boolean> {
    return this.#batcher.add(beat);
  }
}
