/**
 * Renews the leases of the machines whose sessions this replica holds. Heartbeats that arrive together share a
 * statement. A heartbeat is acknowledged only after the commit, so an agent never relies on a lease that the database
 * does not have.
 */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { MachineHeartbeat } from '../../store/machines/machine-store.ts';
import type { Stores } from '../../store/storage.ts';

const MACHINES_MAX = 1_000;
const WAITING_MAX = 100_000;

export class LeaseRenewer {
  readonly #batcher: Batcher<MachineHeartbeat, boolean>;

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

  /** Renews a lease. Returns false if another session owns the machine now. Rejects if the database is unavailable. */
  extend(beat: MachineHeartbeat): Promise<boolean> {
    return this.#batcher.add(beat);
  }
}
