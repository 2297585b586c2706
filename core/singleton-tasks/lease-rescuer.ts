/**
 * Rescues attempts whose machine stopped renewing its lease. Never by elapsed time alone: the machine's row says that
 * its lease has expired, and its agent has killed its attempts before that. The first recorded loss wins; the others
 * change nothing.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { EngineMeter } from '../jobs/engine-meter.ts';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { ExpiredLease } from '../store/jobs/attempt-store.ts';
import type { Stores } from '../store/storage.ts';

interface LeaseRescuerOptions {
  stores: { attempts: Pick<Stores['attempts'], 'expiredLeases' | 'ofGoneMachines'> };
  attempts: Pick<AttemptCalls, 'recordOutcome'>;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  /** Default: not counted. */
  meter?: EngineMeter;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const PERIOD_MS = 1_000;
const BATCH_ITEMS_MAX = 500;
/**
 * Period in milliseconds of the full scan for attempts of removed machines, which are rare; or this many times what
 * the scan takes, at most `GONE_PERIOD_MS_MAX`: one late answer of the database makes a scan slow as well.
 */
const GONE_PERIOD_MS = 5_000;
const GONE_PERIOD_MS_MAX = 60_000;
const REST_FACTOR = 100;

export class LeaseRescuer extends LoopService {
  readonly #options: LeaseRescuerOptions;
  #restUntilMs = 0;

  constructor(options: LeaseRescuerOptions) {
    super({ ...options, name: 'lease rescuer', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<boolean> {
    return (await this.runOnce()) === BATCH_ITEMS_MAX;
  }

  /** Rescues one batch. Returns the number of attempts that this replica rescued. */
  async runOnce(): Promise<number> {
    const { stores, attempts, logger, meter } = this.#options;
    const expired = [
      ...(await stores.attempts.expiredLeases(BATCH_ITEMS_MAX)),
      ...(await this.#ofGoneMachines()),
    ].slice(0, BATCH_ITEMS_MAX);
    // The job's owner may read the error, so it must not name the machine; the log does.
    const results = await Promise.all(
      expired.map(({ attempt }) =>
        attempts.recordOutcome({
          ...attempt,
          kind: 'LOST',
          output: undefined,
          error: 'its machine stopped answering',
        }),
      ),
    );
    const rescued = expired.filter((_, index) => results[index] === 'recorded');
    for (const { attempt, machineName } of rescued)
      logger.warn({ ...attempt, machineName }, 'attempt rescued from a machine whose lease expired');
    meter?.rescued(rescued.length);
    return rescued.length;
  }

  async #ofGoneMachines(): Promise<ExpiredLease[]> {
    const { stores, clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    if (startedAtMs < this.#restUntilMs) return [];
    const gone = await stores.attempts.ofGoneMachines(BATCH_ITEMS_MAX);
    const endedAtMs = clock.monotonicMs();
    const pauseMs = Math.max(GONE_PERIOD_MS, (endedAtMs - startedAtMs) * REST_FACTOR);
    if (gone.length < BATCH_ITEMS_MAX) this.#restUntilMs = endedAtMs + Math.min(GONE_PERIOD_MS_MAX, pauseMs);
    return gone;
  }
}
