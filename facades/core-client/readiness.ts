/**
 * Checks whether any replica of core serves, by grpc.health.v1: core and its database respond. Asks at most once a
 * second.
 */
import { Client } from '@grpc/grpc-js';
import type { PerReplica } from '@slipway/kit/replicas/per-replica';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { CoreConnection } from './core-connection.ts';
import { isAnswer } from './core-connection.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { connections } from './replica-parts.ts';

const METHOD = '/grpc.health.v1.Health/Check';
/** A HealthCheckResponse with status SERVING: field 1, value 1. */
const SERVING = Buffer.from([0x08, 0x01]);
const ANSWER_MS_MAX = 2_000;
const KEPT_MS = 1_000;
/**
 * Who has asked within this time is a balancer that asks regularly, and this long it may take to see an answer and to
 * act on it: an edge asks each second.
 */
const ASKED_WITHIN_MS = 3_000;
const LEAVE_MS = 1_500;

const asItIs = (bytes: Buffer): Buffer => bytes;

export class Readiness {
  readonly #lines: PerReplica<CoreConnection<Client>>;
  /** Replicas that did not respond to the latest check, not even with an error. */
  readonly #unanswered = new WeakSet<CoreConnection<Client>>();
  readonly #used = new WeakSet<CoreConnection<Client>>();
  readonly #clock: Clock;
  #latest: Promise<boolean> | undefined;
  #askedAtMs = -Infinity;
  #isLeaving = false;

  constructor(parts: Omit<ReplicaParts, 'random'>) {
    this.#lines = connections(Client, parts);
    this.#clock = parts.clock;
  }

  /** Returns a result that is at most a second old. Concurrent callers share one check. */
  ready(): Promise<boolean> {
    this.#askedAtMs = this.#clock.monotonicMs();
    if (this.#isLeaving) return Promise.resolve(false);
    this.#latest ??= this.#ask();
    return this.#latest;
  }

  /** Returns false from now on. Resolves when balancers have had the time to see that; at once if none asks. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const isAsked = this.#clock.monotonicMs() - this.#askedAtMs < ASKED_WITHIN_MS;
    if (isAsked) await delay(this.#clock, LEAVE_MS);
  }

  close(): void {
    this.#lines.close();
  }

  async #ask(): Promise<boolean> {
    const answers = await Promise.all(this.#lines.all().map((line) => this.#askOne(line)));
    this.#clock.after(KEPT_MS, () => {
      this.#latest = undefined;
    });
    return answers.includes(true);
  }

  #askOne(line: CoreConnection<Client>): Promise<boolean> {
    const deadline = this.#clock.nowMs() + ANSWER_MS_MAX;
    if (!this.#used.has(line)) {
      this.#used.add(line);
      line.use({ isWaiting: () => this.#unanswered.has(line), onDead: () => this.#unanswered.delete(line) });
    }
    return new Promise((resolve) => {
      this.#unanswered.add(line);
      line.expectAnswer();
      line.client.makeUnaryRequest(METHOD, asItIs, asItIs, Buffer.alloc(0), { deadline }, (error, answer) => {
        if (isAnswer(error)) {
          this.#unanswered.delete(line);
          line.markSeen();
        }
        resolve(!error && SERVING.equals(answer!));
      });
    });
  }
}
