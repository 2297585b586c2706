/** Hands back jobs that still run on machines whose drain has reached its deadline. Nothing else ends with them. */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { Stores } from '../store/storage.ts';

const PERIOD_MS = 5_000;
const BATCH_ITEMS_MAX = 500;

interface DrainEnforcerOptions {
  stores: Pick<Stores, 'drains'>;
  attempts: Pick<AttemptCalls, 'recordOutcome'>;
  events: CoreEvents;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class DrainEnforcer extends LoopService {
  readonly #options: DrainEnforcerOptions;

  constructor(options: DrainEnforcerOptions) {
    super({ ...options, name: 'drain enforcer', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    const { stores, attempts, events, logger } = this.#options;
    const overdue = await stores.drains.overdue(BATCH_ITEMS_MAX);
    if (overdue.length === 0) return;
    logger.info({ ...someAttempts(overdue) }, 'jobs of drained machines are queued again: the deadline is over');
    for (const { endpointId, jobId, attempt, machineId } of overdue) {
      const outcome = { kind: 'RETURNED', output: undefined, error: '' } as const;
      await attempts.recordOutcome({ endpointId, jobId, attempt, machineId, ...outcome });
    }
    events.emit(
      'stop',
      overdue.map((attempt) => ({ ...attempt, reason: 'its machine is drained' })),
    );
  }
}
