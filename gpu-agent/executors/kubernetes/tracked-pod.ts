/** One Pod of a workload, from its creation until it no longer exists: its latest state, for those who wait for one. */
import type { Clock } from '@slipway/kit/time/clock';
import type { ApiPod } from './api-types.ts';

export class TrackedPod {
  readonly workloadId: string;
  readonly uid: string;
  /** The signal by which this agent ends it. */
  asked: 'SIGTERM' | 'SIGKILL' | undefined;
  readonly #clock: Clock;
  readonly #gone = Promise.withResolvers<void>();
  #latest: ApiPod;
  #isGone = false;
  #listeners: (() => void)[] = [];

  constructor(pod: ApiPod, clock: Clock) {
    this.workloadId = pod.metadata.name;
    this.uid = pod.metadata.uid!;
    this.#latest = pod;
    this.#clock = clock;
  }

  /** Its latest state. */
  get latest(): ApiPod {
    return this.#latest;
  }

  /** The API says that it no longer exists. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Resolves when it no longer exists. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Records a state of it. */
  update(pod: ApiPod): void {
    this.#latest = pod;
    this.#notify();
  }

  /** Records that it no longer exists. */
  end(last?: ApiPod): void {
    if (last) this.#latest = last;
    this.#isGone = true;
    this.#gone.resolve();
    this.#notify();
  }

  /**
   * Resolves to the first result of `check` that is not `undefined`. It is called now, after each change and, if
   * `recheckMs` is given, when so much time has passed without one. Rejects with what `check` throws, or with the
   * signal's reason.
   */
  until<Result>(check: () => Result | undefined, signal: AbortSignal, recheckMs?: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      let timer: { cancel(): void } | undefined;
      const end = (): void => {
        timer?.cancel();
        this.#listeners = this.#listeners.filter((each) => each !== look);
        signal.removeEventListener('abort', look);
      };
      const look = (): void => {
        timer?.cancel();
        try {
          signal.throwIfAborted();
          const result = check();
          if (result !== undefined) {
            end();
            return resolve(result);
          }
          if (recheckMs !== undefined) timer = this.#clock.after(recheckMs, look);
        } catch (error) {
          end();
          reject(error as Error);
        }
      };
      this.#listeners.push(look);
      signal.addEventListener('abort', look, { once: true });
      look();
    });
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
