/** Lets readers wait for changes of a job. A notification is a hint: readers also poll. */

import { OverloadError } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { WaitStopper } from './wait-stopper.ts';

/** One reader's subscription to a job. Subscribe before reading, so that no change after the read is missed. */
class JobSubscription {
  readonly #clock: Clock;
  readonly #unsubscribe: (subscription: JobSubscription) => void;
  #notified = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, unsubscribe: (subscription: JobSubscription) => void) {
    this.#clock = clock;
    this.#unsubscribe = unsubscribe;
  }

  /** Wakes the reader. */
  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /**
   * Resolves after a notification, after `ms` milliseconds, or when it is stopped; at once if a notification came
   * since the last wait.
   */
  wait(ms: number, stopper: WaitStopper): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        stopper.listen(undefined);
        this.#wake = undefined;
        this.#notified = false;
        resolve();
      };
      const timer = this.#clock.after(ms, done);
      this.#wake = done;
      if (this.#notified) done();
      else stopper.listen(done);
    });
  }

  /** Ends the subscription. */
  close(): void {
    this.#unsubscribe(this);
  }
}

/** All subscriptions of a replica. */
export class JobSubscriptions {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #subscriptions = new Map<string, Set<JobSubscription>>();
  #count = 0;

  /** `max`: most subscriptions at once. */
  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Subscribes to a job. Throws OverloadError if too many readers wait. */
  subscribe(key: JobKey): JobSubscription {
    if (this.#count >= this.#max) throw new OverloadError('stream readers');
    const name = `${key.endpointId}/${key.jobId}`;
    const subscription = new JobSubscription(this.#clock, () => this.#remove(name, subscription));
    const others = this.#subscriptions.get(name);
    if (others) others.add(subscription);
    else this.#subscriptions.set(name, new Set([subscription]));
    this.#count += 1;
    return subscription;
  }

  /** Wakes all readers of these jobs. */
  notify(keys: readonly JobKey[]): void {
    if (this.#count === 0) return;
    for (const key of keys)
      for (const subscription of this.#subscriptions.get(`${key.endpointId}/${key.jobId}`) ?? []) subscription.notify();
  }

  #remove(name: string, subscription: JobSubscription): void {
    const others = this.#subscriptions.get(name);
    if (!others?.delete(subscription)) return;
    this.#count -= 1;
    if (others.size === 0) this.#subscriptions.delete(name);
  }
}
