/** Empties machines before they leave, and forgets the ones that have left. */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import { someWorkers } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import type { Stores } from '../store/storage.ts';

const PERIOD_MS = 5_000;
/** Pause between two searches for such machines while there are none, in milliseconds. */
const SEARCH_MS = 15_000;
/** Author of the change in the audit trail: no key. */
const NO_KEY = '';

interface EphemeralReaperOptions {
  stores: Pick<Stores, 'ephemeral' | 'machines'>;
  events: CoreEvents;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class EphemeralReaper extends LoopService {
  readonly #options: EphemeralReaperOptions;
  #dueMs = 0;

  constructor(options: EphemeralReaperOptions) {
    super({ ...options, name: 'ephemeral reaper', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    const { stores, events, clock, logger } = this.#options;
    if (clock.monotonicMs() < this.#dueMs) return;
    const isAny = await stores.ephemeral.isAny();
    this.#dueMs = clock.monotonicMs() + (isAny ? 0 : SEARCH_MS);
    if (!isAny) return;
    const drained = await stores.ephemeral.drainLeaving();
    if (drained.length > 0) {
      const workerIds = drained.map(({ workerId }) => workerId);
      logger.info({ ...someWorkers(workerIds) }, 'workers are drained: their machines leave soon');
      events.emit('desired', [...new Set(drained.map(({ machineId }) => machineId))]);
      events.emit('endpoints', [...new Set(drained.map(({ endpointId }) => endpointId))]);
    }
    for (const machineId of await stores.ephemeral.left()) {
      const forgotten = await stores.machines.forget(machineId, NO_KEY);
      if (typeof forgotten === 'string') continue;
      logger.info({ machineId, lostWorkers: forgotten.lostWorkers }, 'an ephemeral machine has left and is forgotten');
      events.emit('keys', forgotten.keyIds);
      events.emit('endpoints', forgotten.endpointIds);
    }
  }
}
