/** A replica as one service: its database first, then its services in order. */

import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import {
  isAccessDenied,
  isConnectTimeout,
  isDiskFull,
  isReadOnly,
  isTransient,
  persist,
} from './store/sql/transient.ts';
import type { Storage } from './store/storage.ts';

/**
 * Longest wait of a starting core for its database, in milliseconds. It has no limit while only the database's disk is
 * full, and begins anew whenever a login timed out and the database had sent something.
 */
const DATABASE_WAIT_MS = 30_000;
/** Dependencies of a replica's start and stop. */
interface ReplicaDependencies {
  logger: Logger;
  clock: Clock;
  random: Random;
}

/** Starts the database, then the services in order; stops them in reverse. */
export class Replica extends SingleRunService {
  readonly name = 'core';
  readonly #storage: Storage;
  readonly #services: readonly Service[];
  readonly #dependencies: ReplicaDependencies;

  constructor(storage: Storage, services: readonly Service[], dependencies: ReplicaDependencies) {
    super();
    this.#storage = storage;
    this.#services = services;
    this.#dependencies = dependencies;
  }

  protected override async onStart(): Promise<void> {
    const { logger } = this.#dependencies;
    let reported = '';
    const onFailure = (error: unknown): void => {
      if (isReadOnly(error)) {
        // The wait has no end, so the reason is logged once.
        const { message } = error as Error;
        if (message !== reported) logger.warn(message);
        reported = message;
      } else if (isTransient(error)) logger.warn({ err: error }, 'the database is not there yet');
    };
    const waitMs = this.#slowStart();
    const forMs = (error: unknown): number => {
      if (isAccessDenied(error)) return 0;
      return isDiskFull(error) || isReadOnly(error) ? Infinity : waitMs(error);
    };
    try {
      await persist(this.#storage.prepare, { ...this.#dependencies, forMs, signal: this.ending, onFailure });
    } catch (error) {
      if (!isAccessDenied(error)) throw error;
      throw new Error(`SLIPWAY_DATABASE_URL does not let core in: ${(error as Error).message}`, { cause: error });
    }
    await startAll(this.#services, logger, this.ending);
  }

  /** Returns how long to wait for the database from the start on, in milliseconds, to be called at each failure. */
  #slowStart(): (error: unknown) => number {
    const { clock } = this.#dependencies;
    const { answers } = this.#storage;
    const startedMs = clock.monotonicMs();
    let lastAnswerMs = startedMs;
    let isHeard = answers.listen();
    return (error) => {
      if (isConnectTimeout(error) && isHeard()) {
        lastAnswerMs = clock.monotonicMs();
        isHeard = answers.listen();
        answers.missed();
      }
      return lastAnswerMs - startedMs + DATABASE_WAIT_MS;
    };
  }

  protected override async onStop(): Promise<void> {
    await stopAll(this.#services, this.#dependencies.logger);
    await this.#storage.close();
  }
}
