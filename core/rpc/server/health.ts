/** grpc.health.v1: SERVING while the database answers. */

import type { Server } from '@grpc/grpc-js';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { AnswerLimit } from '@slipway/kit/time/answer-limit';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { HealthImplementation } from 'grpc-health-check';

const PERIOD_MS = 1_000;
/** Time in milliseconds after which a database that does not answer counts as unavailable. Grows where it is slow. */
const ANSWER_MS_MAX = 2_000;
/**
 * Time in milliseconds for which an answer of the database, also one to another part of the replica, is valid. It grows
 * too.
 */
const ANSWER_VALID_MS = 3_000;
/** Calls that fail are worth a retry until the database has not answered for this many milliseconds. */
const AWAY_MS_MIN = 3_000;

interface HealthOptions {
  /** Runs any statement. Resolves when the database answers. */
  ping(): Promise<unknown>;
  /** By how much the limits of the database's answers have grown, see AnswerLimit.factor. */
  answers: { readonly limit: Pick<AnswerLimit, 'factor'> };
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class Health extends LoopService {
  readonly #options: HealthOptions;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  #serving = false;
  #answeredAtMs = -Infinity;
  #awaySinceMs: number | undefined;
  /** The ping that has no answer yet: a slow database gets no second one. */
  #pinging: Promise<boolean> | undefined;

  constructor(options: HealthOptions) {
    super({ ...options, name: 'health', periodMs: PERIOD_MS });
    this.#options = options;
  }

  /** Reports that another part of the replica got an answer from the database, or did not. */
  reportDatabase(answers: boolean): void {
    this.#answeredAtMs = answers ? this.#options.clock.monotonicMs() : -Infinity;
    if (!answers && this.#serving) this.wake();
  }

  /** True if the database has not answered for so long that callers must not wait for it. */
  get databaseAway(): boolean {
    return this.#awaySinceMs !== undefined && this.#options.clock.monotonicMs() - this.#awaySinceMs >= AWAY_MS_MIN;
  }

  /** Adds the service to a server. */
  addTo(server: Server): void {
    this.#health.addToServer(server);
  }

  /** Reports NOT_SERVING first, so that load balancers leave this replica before anything else ends. */
  protected override async onStop(): Promise<void> {
    this.#set(false);
    await super.onStop();
  }

  protected override async pass(): Promise<void> {
    const answers = await this.#answers();
    this.#awaySinceMs = answers ? undefined : (this.#awaySinceMs ?? this.#options.clock.monotonicMs());
    this.#set(answers && !this.ending.aborted);
  }

  #answers(): Promise<boolean> {
    const { clock, ping, answers } = this.#options;
    const { factor } = answers.limit;
    if (clock.monotonicMs() - this.#answeredAtMs < ANSWER_VALID_MS * factor) return Promise.resolve(true);
    this.#pinging ??= ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        this.#pinging = undefined;
      });
    const pinging = this.#pinging;
    return new Promise((resolve) => {
      const timer = clock.after(ANSWER_MS_MAX * factor, () => resolve(false));
      void pinging.then((answered) => {
        timer.cancel();
        resolve(answered);
      });
    });
  }

  #set(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
    this.#options.logger.info({ serving }, 'health changed');
  }
}
