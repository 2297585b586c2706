/**
 * Brings the workers of this machine to the state that core desires. Level-triggered: every list of desired workers is
 * compared with the workers that run, whatever came before. A worker's id names one process for its whole life; an
 * ended worker is never started again.
 */

import type { DesiredWorkers } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState, DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { awaitEnds } from '../await-ends.ts';
import type { SpanReader } from './job-lines.ts';
import type { PreviousWorker } from './previous-worker.ts';
import { Worker } from './worker.ts';
import type { WorkerListener } from './worker-listener.ts';
import type { WorkerParts } from './worker-parts.ts';
import type { EndStatus } from './worker-want.ts';

/** Most ended workers whose report is remembered. */
const ENDED_MAX = 200;
/** Random bytes in the token by which the bridge authenticates a worker. */
const TOKEN_BYTES = 18;

/** Events of workers for the layers above. */
interface PoolListener extends WorkerListener<Worker> {
  /** Called when the agent stops and the worker continues. It gets no more work from this agent. */
  leftRunning(worker: Worker): void;
  /** Called when the worker's record is dropped. Nothing will ask for it again. */
  forgotten(workerId: string): void;
}

/** Questions of the pool to the layers above. */
interface PoolPort extends SpanReader {
  /** Returns whether the worker holds attempts that have not ended. */
  isBusy(workerId: string): boolean;
  /** Resolves when the next run of the agent would find the workers as they are now. Never rejects. */
  recorded(): Promise<void>;
  /** Returns whether the report of its end was made for core. */
  hasReportedEnd(workerId: string): boolean;
}

/** Dependencies of WorkerPool. */
type PoolParts = Omit<WorkerParts<Worker>, 'listener' | 'isBusy' | 'recorded' | 'spansOf'> & { port: PoolPort };

export class WorkerPool {
  readonly #parts: PoolParts;
  readonly #workerParts: WorkerParts<Worker>;
  readonly #workers = new Map<string, Worker>();
  readonly #listeners: PoolListener[] = [];
  /** Since when core is connected, by the monotonic clock. */
  #connectedAtMs = -Infinity;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    const listener: WorkerListener<Worker> = {
      changed: (worker) => this.#notify((listener) => listener.changed(worker)),
      resultLine: (worker, line) => this.#notify((listener) => listener.resultLine(worker, line)),
      leaving: (worker) => this.#notify((listener) => listener.leaving(worker)),
      stopping: (worker) => this.#notify((listener) => listener.stopping(worker)),
      ended: (worker, cause) => this.#notify((listener) => listener.ended(worker, cause)),
    };
    const { isBusy, recorded, spansOf } = parts.port;
    this.#workerParts = { ...parts, listener, isBusy, recorded, spansOf };
  }

  /** Adds a listener. Listeners are notified in the order in which they were added. */
  listen(listener: PoolListener): void {
    this.#listeners.push(listener);
  }

  get(workerId: string): Worker | undefined {
    return this.#workers.get(workerId);
  }

  /** Returns all workers, including ended ones that core has not dropped yet. */
  all(): Worker[] {
    return [...this.#workers.values()];
  }

  /**
   * Adopts a worker that a previous agent should have left running. It can be reached at once; nothing else happens
   * before `begin`.
   */
  adopt(workerId: string, previous: PreviousWorker): void {
    const { endpointId, token, spec, frozen } = previous;
    const desired = frozen ? DesiredState.FREEZE : DesiredState.RUN;
    this.#workers.set(
      workerId,
      new Worker(
        DesiredWorker.fromPartial({ workerId, endpointId, desired, spec }),
        token,
        this.#workerParts,
        previous,
      ),
    );
  }

  /**
   * Starts to drive the adopted workers. `rejection` says why none of them can continue. Resolves once it is known
   * which of them run.
   */
  async begin(rejection: string | undefined): Promise<void> {
    for (const worker of this.all()) {
      if (rejection === undefined) worker.begin();
      else worker.rejectAdoption(rejection);
    }
    await Promise.all(this.all().map((worker) => worker.adoptionChecked));
  }

  /**
   * Records that core is connected again. Its reports of idleness count once all facades have had time to report to it.
   */
  connected(): void {
    this.#connectedAtMs = this.#parts.clock.monotonicMs();
  }

  /** Starts and stops workers to match the list of all workers that this machine should have. */
  apply(desired: DesiredWorkers): void {
    const wanted = new Map(desired.workers.map((worker) => [worker.workerId, worker]));
    for (const worker of this.all()) {
      const request = wanted.get(worker.id);
      if (!worker.hasEnded) worker.want(request, this.#connectedAtMs);
      else if (!request && this.#parts.port.hasReportedEnd(worker.id)) this.#forget(worker.id);
    }
    for (const request of wanted.values()) {
      if (this.#workers.has(request.workerId)) continue;
      const worker = new Worker(
        request,
        this.#parts.random.bytes(TOKEN_BYTES).toString('base64url'),
        this.#workerParts,
      );
      this.#workers.set(worker.id, worker);
      worker.begin();
    }
    this.#forgetOldest();
  }

  /** Asks the worker to end, and kills it if it does not end in time. */
  terminate(worker: Worker, verdict: EndStatus): void {
    worker.requestEnd('stop', verdict);
  }

  /** Ends the worker and everything that it started, at once. */
  kill(worker: Worker, verdict: EndStatus): void {
    worker.requestEnd('kill', verdict);
  }

  /** Ends a worker that reported why it cannot work, unless it ends by itself. */
  unhealthy(worker: Worker, reason: string): void {
    this.terminate(worker, { state: WorkerState.UNHEALTHY, reason });
  }

  /** Whether a worker is on standby. */
  get hasFrozen(): boolean {
    return this.all().some((worker) => worker.frozenSinceMs !== undefined);
  }

  /**
   * Ends the worker that has been on standby for longest, because the machine needs its memory. Returns it; `undefined`
   * if there is none.
   */
  endOldestFrozen(reason: string): Pick<Worker, 'id' | 'endpointId'> | undefined {
    const frozen = this.all().filter((worker) => worker.frozenSinceMs !== undefined && !worker.isStopping);
    const oldest = frozen.sort((a, b) => a.frozenSinceMs! - b.frozenSinceMs!)[0];
    oldest?.requestEnd('stop', { state: WorkerState.STOPPED, reason });
    return oldest;
  }

  /** Runs the due actions of all workers. Called often. */
  pass(): void {
    for (const worker of this.#workers.values()) worker.evaluate();
  }

  /**
   * Ends all workers and waits for their end, as long as their graces last and a killed worker may take to end. With
   * `keepContainers`, workers in containers continue.
   */
  async stopAll({ keepContainers }: { keepContainers: boolean }): Promise<void> {
    const continues = (worker: Worker): boolean =>
      keepContainers && worker.outlives && worker.isRunning && worker.memory?.record.moving === undefined;
    for (const worker of this.all().filter(continues)) this.#notify((listener) => listener.leftRunning(worker));
    const ending = this.all().filter((worker) => !continues(worker));
    for (const worker of ending) worker.shutDown({ state: WorkerState.STOPPED, reason: 'The agent was stopped.' });
    const { clock, logger, graceMs, httpDrainMs } = this.#parts;
    await awaitEnds(ending, { graceMs: graceMs + (ending.some(({ http }) => http) ? httpDrainMs : 0), clock, logger });
  }

  #forgetOldest(): void {
    const ended = this.all().filter((worker) => worker.hasEnded && this.#parts.port.hasReportedEnd(worker.id));
    for (const worker of ended.slice(0, Math.max(0, ended.length - ENDED_MAX))) this.#forget(worker.id);
  }

  #forget(workerId: string): void {
    this.#workers.delete(workerId);
    this.#notify((listener) => listener.forgotten(workerId));
  }

  #notify(call: (listener: PoolListener) => void): void {
    for (const listener of this.#listeners) call(listener);
  }
}
