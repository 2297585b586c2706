/** Lets readers sleep until something happens to their job. Ringing is a hint: whoever sleeps also wakes up by himself. */
import { OverloadError } from '../runtime/batcher.ts';
import type { Clock } from '../runtime/clock.ts';
import type { JobKey } from './job-events.ts';

/** One sleeper. Hung up before he looks, so that nothing that happens after the look is missed. */
export class Bell {
  readonly #clock: Clock;
  readonly #takeDown: (bell: Bell) => void;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, takeDown: (bell: Bell) => void) {
    this.#clock = clock;
    this.#takeDown = takeDown;
  }

  /** Something happened. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Sleeps until the bell rings, `ms` have passed or the signal aborts. At once when it rang since the last sleep. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        this.#rung = false;
        resolve();
      };
      const timer = this.#clock.after(ms, done);
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
      if (this.#rung || signal.aborted) done();
    });
  }

  /** Takes it down. */
  close(): void {
    this.#takeDown(this);
  }
}

/** All bells of a replica. */
export class KeyBells {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #bells = new Map<string, Set<Bell>>();
  #count = 0;

  /** At most `max` bells hang at once. */
  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Hangs up a bell for a job. OverloadError: too many readers wait. */
  hang(key: JobKey): Bell {
    if (this.#count >= this.#max) throw new OverloadError('stream readers');
    const name = `${key.endpointId}/${key.jobId}`;
    const bell = new Bell(this.#clock, () => this.#remove(name, bell));
    const others = this.#bells.get(name);
    if (others) others.add(bell);
    else this.#bells.set(name, new Set([bell]));
    this.#count += 1;
    return bell;
  }

  /** Rings the bells of jobs. */
  ring(keys: readonly JobKey[]): void {
    if (this.#count === 0) return;
    for (const key of keys) for (const bell of this.#bells.get(`${key.endpointId}/${key.jobId}`) ?? []) bell.ring();
  }

  #remove(name: string, bell: Bell): void {
    const others = this.#bells.get(name);
    if (!others?.delete(bell)) return;
    this.#count -= 1;
    if (others.size === 0) this.#bells.delete(name);
  }
}
