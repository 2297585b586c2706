/** Counts all queues anew from time to time, and mends what the tallies of endpoints say of them: a release before them, or a hand, may have changed jobs. */
import { LoopService } from '../runtime/loop-service.ts';
import type { SingletonTask } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Stores } from '../store/storage.ts';

export interface QueueRecounterOptions {
  stores: Pick<Stores, 'counts'>;
  /** Default: it is this replica's. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** The first pass is at the start, which is when it is needed most; a million queued jobs take a third of a second. */
const PERIOD_MS = 30_000;
/** Where counting is slow, it is done again after this many times what it takes. */
const REST_FACTOR = 200;

export class QueueRecounter extends LoopService {
  readonly #options: QueueRecounterOptions;
  #restUntilMs = 0;

  constructor(options: QueueRecounterOptions) {
    super({ ...options, name: 'queue recounter', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<boolean> {
    const { stores, clock, logger } = this.#options;
    const startedAtMs = clock.monotonicMs();
    if (startedAtMs < this.#restUntilMs) return false;
    const endpoints = await stores.counts.recount();
    const endedAtMs = clock.monotonicMs();
    this.#restUntilMs = endedAtMs + (endedAtMs - startedAtMs) * REST_FACTOR;
    if (endpoints > 0) logger.warn({ endpoints }, 'the length of queues was not what was counted, and is mended');
    return false;
  }
}
