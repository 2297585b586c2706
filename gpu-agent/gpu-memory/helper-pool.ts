/**
 * Runs requests in helper processes, one request a process. Idle processes are kept: a start takes longer than the
 * driver needs for a small worker.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { HelperRequest } from './helper-protocol.ts';
import type { Helper } from './helper-requests.ts';

/** Most requests at the same time: more than a machine has cards. The others wait. */
const RUNNING_MAX = 16;
/** Time in milliseconds for which all idle processes are kept, because moves come in bursts. Then one is kept. */
const IDLE_MS = 30_000;

/** How a request ended: undefined if well; otherwise the failure, and a text for people. */
export type HelperFailure = { readonly kind: 'late' | 'failed' | 'aborted'; readonly text: string };

/** A request with its bounds. */
interface BoundedRequest {
  /** Time limit from the moment at which a process takes it, in milliseconds. */
  limitMs: number;
  /** Ends the request, and its process. */
  signal?: AbortSignal;
}

export class HelperPool {
  readonly #clock: Clock;
  readonly #make: () => Helper;
  #idle: Helper[] = [];
  /** Ends idle processes except one. */
  #trim: Timer | undefined;
  readonly #busy = new Set<Helper>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #closed = false;

  /** `make`: returns a new helper. */
  constructor(clock: Clock, make: () => Helper) {
    this.#clock = clock;
    this.#make = make;
  }

  /** Runs a request. Never rejects. */
  async run(request: HelperRequest, bound: BoundedRequest): Promise<HelperFailure | undefined> {
    await this.#enter();
    try {
      return await this.#runOn(this.#take(), request, bound);
    } catch (error) {
      // It could not be started, for instance for want of memory.
      return { kind: 'failed', text: (error as Error).message };
    } finally {
      this.#leave();
    }
  }

  async #runOn(
    helper: Helper,
    request: HelperRequest,
    { limitMs, signal }: BoundedRequest,
  ): Promise<HelperFailure | undefined> {
    let failure: HelperFailure | undefined;
    const end = (kind: HelperFailure['kind'], text: string): void => {
      failure ??= { kind, text };
      helper.kill();
    };
    const timer = this.#clock.after(limitMs, () => end('late', `it took longer than ${Math.round(limitMs / 1_000)} s`));
    const onAbort = (): void => end('aborted', 'the worker ended');
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      const response = await helper.ask(request);
      if (!response.ok) failure ??= { kind: 'failed', text: response.error };
    } catch (error) {
      failure ??= { kind: 'failed', text: (error as Error).message };
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#put(helper);
    }
    return failure;
  }

  /** Ends all processes. */
  close(): void {
    this.#closed = true;
    for (const helper of this.#busy) helper.kill();
    for (const helper of this.#idle.splice(0)) helper.kill();
    this.#trim?.cancel();
  }

  #take(): Helper {
    this.#idle = this.#idle.filter(({ hasEnded }) => !hasEnded);
    const helper = this.#idle.pop() ?? this.#make();
    this.#busy.add(helper);
    if (this.#closed) helper.kill();
    return helper;
  }

  #put(helper: Helper): void {
    this.#busy.delete(helper);
    if (this.#closed || helper.hasEnded) {
      helper.kill();
      return;
    }
    this.#idle.push(helper);
    this.#trim?.cancel();
    if (this.#idle.length === 1) return;
    this.#trim = this.#clock.after(IDLE_MS, () => {
      for (const unused of this.#idle.splice(1)) unused.kill();
    });
  }

  async #enter(): Promise<void> {
    if (this.#running >= RUNNING_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
