/**
 * The module `slipway-worker`: runs a JavaScript or TypeScript handler as a worker. It uses the worker protocol of the
 * Python SDK, so the same agent serves both.
 */
import { BridgeClient, pause } from './bridge-client.ts';
import type { WorkerConfig } from './config.ts';
import { readWorkerConfig } from './config.ts';
import type { Job, StartOptions } from './job.ts';
import { runJob } from './run-job.ts';
import { StopSignal } from './stop-signal.ts';

export type { Handler, Job, StartOptions } from './job.ts';

const CONCURRENCY_MAX = 1_000;
/** Most jobs in their slots plus results that are not safe yet, which stay in memory until they are. */
const HELD_MAX = 2 * CONCURRENCY_MAX;
/** Pause after a failed call to the agent, in milliseconds. */
const RETRY_MS = 1_000;

let client: BridgeClient | undefined;

/** Runs jobs until the worker is stopped, then ends the process. */
export async function start<Input = unknown>(options: StartOptions<Input>): Promise<void> {
  if (typeof options?.handler !== 'function') throw new TypeError('start needs { handler: function }');
  const config = readWorkerConfig();
  client ??= new BridgeClient(config);
  await new Worker(options as StartOptions, client, config).run();
  process.exit(0);
}

/** Reports a progress value of a running job. Only the last one before the result counts. Never rejects. */
export async function progress(job: Pick<Job, 'id'>, value: unknown): Promise<void> {
  client ??= new BridgeClient(readWorkerConfig());
  await client
    .progress(job.id, JSON.stringify({ status: 'IN_PROGRESS', output: value ?? null }))
    .catch((error: unknown) => console.error('progress was not sent:', error));
}

class Worker {
  readonly #options: StartOptions;
  readonly #client: BridgeClient;
  readonly #config: WorkerConfig;
  /** Jobs from their take until their results are safe. */
  readonly #held = new Map<string, { stop: StopSignal; done: Promise<void> }>();
  /**
   * Number of jobs that have a slot. A job leaves its slot when its handler has returned and its result is on the link.
   */
  #inSlots = 0;
  #concurrency = 1;
  #leaving = false;
  #slotFreed: (() => void) | undefined;

  constructor(options: StartOptions, bridge: BridgeClient, config: WorkerConfig) {
    this.#options = options;
    this.#client = bridge;
    this.#config = config;
  }

  async run(): Promise<void> {
    process.once('SIGTERM', () => this.#leave());
    process.once('SIGINT', () => this.#leave());
    void this.#pingLoop();
    void this.#stopLoop();
    await this.#takeLoop();
    await Promise.all([...this.#held.values()].map(({ done }) => done));
  }

  #leave(): void {
    this.#leaving = true;
    this.#slotFreed?.();
  }

  async #takeLoop(): Promise<void> {
    while (!this.#leaving) {
      this.#resize();
      const free = Math.min(this.#concurrency - this.#inSlots, HELD_MAX - this.#held.size);
      if (free <= 0) {
        await new Promise<void>((resolve) => {
          this.#slotFreed = resolve;
        });
        // Slots that are freed at the same moment are requested together.
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      try {
        for (const job of await this.#client.take(free, this.#concurrency, this.#held.size > 0)) this.#begin(job);
      } catch (error) {
        console.error('the agent could not be asked for jobs:', error);
        await pause(RETRY_MS);
      }
    }
  }

  #resize(): void {
    const { concurrency = 1 } = this.#options;
    const wanted = typeof concurrency === 'function' ? concurrency(this.#concurrency) : concurrency;
    this.#concurrency = Math.min(Math.max(Math.trunc(wanted) || 1, 1), CONCURRENCY_MAX);
  }

  #begin(fields: Record<string, unknown>): void {
    const stop = new StopSignal();
    const job = Object.defineProperty(fields, 'signal', { get: () => stop.signal, enumerable: true }) as unknown as Job;
    let hasSlot = true;
    const leaveSlot = (): void => {
      if (hasSlot) this.#inSlots -= 1;
      hasSlot = false;
      this.#slotFreed?.();
    };
    this.#inSlots += 1;
    const done = runJob(job, this.#options, this.#client, this.#config, leaveSlot)
      .then((refresh) => {
        if (refresh) this.#leaving = true;
      })
      .catch((error: unknown) => console.error(`the result of job ${job.id} could not be returned:`, error))
      .finally(() => {
        // The answer to a result may come after the next attempt of the same job has begun.
        if (this.#held.get(job.id)?.stop === stop) this.#held.delete(job.id);
        leaveSlot();
      });
    this.#held.set(job.id, { stop, done });
  }

  async #pingLoop(): Promise<void> {
    for (;;) {
      await this.#client.ping([...this.#held.keys()]).catch((error: unknown) => console.error('ping failed:', error));
      await pause(this.#config.pingIntervalMs);
    }
  }

  async #stopLoop(): Promise<void> {
    for (;;) {
      try {
        for (const jobId of await this.#client.stops())
          this.#held.get(jobId)?.stop.stop(new Error('the job was stopped'));
      } catch (error) {
        console.error('the agent could not be asked for stops:', error);
        await pause(RETRY_MS);
      }
    }
  }
}
