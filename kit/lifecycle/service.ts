/**
 * Everything long-lived is a Service: it starts, it stops, and stopping waits for its end. In the manner of River's
 * BaseStartStop.
 */
import type { Logger } from '../log/logger.ts';

/** A part of a process with start and stop. Both may be called at any time, in any order and repeatedly. */
export interface Service {
  /** Name in the log. */
  readonly name: string;
  /**
   * Resolves when it is ready for others to use. Rejects when it cannot start; then nothing of it runs. StoppedError:
   * `stop` came first.
   */
  start(): Promise<void>;
  /** Resolves when nothing of it runs any more, also of a start that is under way. */
  stop(): Promise<void>;
}

/** A stop was called before the start was complete. */
export class StoppedError extends Error {
  constructor(name: string) {
    super(`${name} was stopped before it was ready`);
    this.name = 'StoppedError';
  }
}

/** One run, from `start` to the end of the following `stop`. */
interface Run {
  readonly ending: AbortController;
  /** Result of `start`. */
  up: Promise<void>;
  /** `onStart` was called, and `onStop` was not. */
  began: boolean;
  /** `up` has settled. */
  isDone: boolean;
}

/**
 * Base of all services: it brings calls of `start` and `stop` into an order, so that a service only says how it begins
 * and how it ends. `onStart` and `onStop` alternate, one at a time. A start during a stop waits for it; a stop during a
 * start aborts `ending` and waits for it.
 */
export abstract class BaseService implements Service {
  abstract readonly name: string;
  #ending = new AbortController();
  #run: Run | undefined;
  #down: Promise<void> | undefined;

  start(): Promise<void> {
    if (!this.#run) {
      const run: Run = { ending: new AbortController(), up: Promise.resolve(), began: false, isDone: false };
      this.#run = run;
      run.up = this.#begin(run).finally(() => {
        run.isDone = true;
      });
      // The caller gets the rejection. Without a handler it must not end the process.
      run.up.catch(() => {});
    }
    return this.#run.up;
  }

  stop(): Promise<void> {
    const run = this.#run;
    if (run) {
      this.#run = undefined;
      run.ending.abort();
      const down = this.#end(run).finally(() => {
        if (this.#down === down) this.#down = undefined;
      });
      down.catch(() => {});
      this.#down = down;
    }
    return this.#down ?? Promise.resolve();
  }

  /** Aborted as soon as `stop` is called, until the next start. Not aborted before the first one. */
  protected get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Between a start and the stop that follows it. */
  protected get running(): boolean {
    return this.#run?.began === true;
  }

  /**
   * Begins; resolves when others may use it. It should give up when `ending` aborts. When it fails, `onStop` follows.
   */
  protected abstract onStart(): void | Promise<void>;

  /**
   * Ends what `onStart` began, also where that failed half-way. `ending` is aborted. Resolves when nothing runs any
   * more.
   */
  protected abstract onStop(): void | Promise<void>;

  async #begin(run: Run): Promise<void> {
    // A failure of the previous stop is reported to its caller.
    if (this.#down) await this.#down.catch(() => {});
    this.#rejectIfStopped(run);
    this.#ending = run.ending;
    run.began = true;
    try {
      await this.onStart();
    } catch (error) {
      if (!run.ending.signal.aborted) await this.#fail(run);
      throw error;
    }
    this.#rejectIfStopped(run);
  }

  #rejectIfStopped(run: Run): void {
    if (run.ending.signal.aborted) throw new StoppedError(this.name);
  }

  async #fail(run: Run): Promise<void> {
    run.began = false;
    run.ending.abort();
    try {
      await this.onStop();
    } finally {
      if (this.#run === run) this.#run = undefined;
    }
  }

  async #end(run: Run): Promise<void> {
    if (!run.isDone) await run.up.catch(() => {});
    if (run.began) await this.onStop();
  }
}

/** A service that owns what it was built with, such as connections, and starts only once. Another start rejects. */
export abstract class SingleRunService extends BaseService {
  #ended = false;

  override start(): Promise<void> {
    if (this.#ended)
      return Promise.reject(new Error(`${this.name} was stopped and is not started again; build another`));
    return super.start();
  }

  override stop(): Promise<void> {
    this.#ended = true;
    return super.stop();
  }
}

/**
 * Starts services in order; when one fails, those already started are stopped in reverse and the failure is thrown.
 * When `signal` aborts, the starting service is stopped and no further one is started.
 */
export async function startAll(services: readonly Service[], logger: Logger, signal?: AbortSignal): Promise<void> {
  const started: Service[] = [];
  for (const service of services) {
    // A failure of this stop is met again by stopAll.
    const giveUp = (): void => {
      service.stop().catch(() => {});
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      if (signal?.aborted) throw new StoppedError(service.name);
      await service.start();
      started.push(service);
    } catch (error) {
      if (!signal?.aborted) logger.error({ err: error, service: service.name }, 'service did not start');
      await stopAll([...started, service], logger);
      throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  }
}

/** Stops services in reverse order. A failing one is logged and does not keep the others from stopping. */
export async function stopAll(services: readonly Service[], logger: Logger): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      logger.error({ err: error, service: service.name }, 'service did not stop cleanly');
    }
  }
}
