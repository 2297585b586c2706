/**
 * Makes the workers of this machine what core wants them to be. Level-triggered: every list of desired workers is compared with what
 * runs, whatever came before. A worker's id names one process for its whole life; an ended worker is never started again.
 */
import { DesiredState } from '../../../proto/gen/slipway/v1/agent_service.ts';
import type { DesiredWorker, DesiredWorkers } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { WorkerState } from '../../../proto/gen/slipway/v1/machine.ts';
import type { Clock, Random } from '../../../core/runtime/clock.ts';
import { enumName } from '../../../proto/wire/enum-name.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { REASON_LOG_BYTES, describeExit, endReason, withLog } from '../../launch/end-reason.ts';
import type { UnitExit } from '../../executors/executor.ts';
import type { WorkerStarter } from './worker-starter.ts';
import { Worker } from './worker.ts';
import type { EndStatus } from './worker.ts';

/** Seconds a worker may take to ask for work when its endpoint does not say (docs/worker-protocol.md#environment). */
const INIT_TIMEOUT_SECONDS = 420;
/** Ended workers whose report is remembered, at most. */
const ENDED_MAX = 200;
/** Chance in the token by which a worker is known to the bridge. */
const TOKEN_BYTES = 18;

/** What the layers above are told of workers. */
export interface PoolListener {
  /** Its state changed, or core must be told something about it. */
  changed(worker: Worker): void;
  /** It gets no more work: what waits for it goes back to core. */
  leaving(worker: Worker): void;
  /** It was asked to end: what it waits for will not come. */
  stopping(worker: Worker): void;
  /** Its process ended; `cause` says how, for the attempts it held. */
  ended(worker: Worker, cause: string): void;
  /** Nobody will ask for it any more. */
  forgotten(workerId: string): void;
}

/** What the layers above know of workers. */
export interface PoolQuestions {
  /** The worker was given attempts that have not ended. */
  isBusy(workerId: string): boolean;
  /** A report of its end was made for core. */
  hasToldEnd(workerId: string): boolean;
}

/** What the pool works with. */
export interface PoolParts {
  starter: WorkerStarter;
  questions: PoolQuestions;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** How long a process may take to end after SIGTERM, in milliseconds. */
  terminateGraceMs: number;
}

export class WorkerPool {
  readonly #parts: PoolParts;
  readonly #workers = new Map<string, Worker>();
  /** Lives of workers under way. */
  readonly #lives = new Map<string, Promise<void>>();
  readonly #listeners: PoolListener[] = [];

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Tells `listener` from now on; the first who asked hears first. */
  listen(listener: PoolListener): void {
    this.#listeners.push(listener);
  }

  get(workerId: string): Worker | undefined {
    return this.#workers.get(workerId);
  }

  /** All workers, those that ended and that core has not dropped yet included. */
  all(): Worker[] {
    return [...this.#workers.values()];
  }

  /** Starts and stops what differs from a list of all workers that this machine should have. */
  apply(desired: DesiredWorkers): void {
    const wanted = new Map(desired.workers.map((worker) => [worker.workerId, worker]));
    for (const worker of this.all()) {
      const request = wanted.get(worker.id);
      if (worker.hasEnded) {
        if (!request && this.#parts.questions.hasToldEnd(worker.id)) this.#forget(worker.id);
      } else if (!request) this.#stopAtOnce(worker);
      else if (request.desired === DesiredState.DRAIN) this.drain(worker);
      else if (worker.state === WorkerState.DRAINING && !worker.refresh && worker.terminatedAtMs === undefined) this.#undrain(worker);
    }
    for (const request of wanted.values()) if (!this.#workers.has(request.workerId)) this.#start(request);
  }

  /** It has asked for work. */
  ready(worker: Worker): void {
    worker.asked = true;
    if (worker.state === WorkerState.INITIALIZING) this.#set(worker, WorkerState.READY);
  }

  /** It wants to be replaced before its next job. */
  recycle(worker: Worker): void {
    if (worker.refresh) return;
    worker.refresh = true;
    this.#tell((listener) => listener.changed(worker));
    this.drain(worker);
  }

  /** Gives it no more work and ends it when it holds no attempt. */
  drain(worker: Worker): void {
    if (worker.hasEnded || worker.terminatedAtMs !== undefined) return;
    if (worker.state !== WorkerState.DRAINING) {
      this.#set(worker, WorkerState.DRAINING);
      this.#tell((listener) => listener.leaving(worker));
    }
    this.settle(worker);
  }

  /** Ends a draining worker that holds nothing. Call it whenever an attempt ended. */
  settle(worker: Worker): void {
    if (worker.state === WorkerState.DRAINING && !this.#parts.questions.isBusy(worker.id)) this.terminate(worker, { state: WorkerState.STOPPED, reason: '' });
  }

  /** Asks it to end; kills it when it does not in time. */
  terminate(worker: Worker, endStatus: EndStatus): void {
    if (worker.hasEnded || worker.terminatedAtMs !== undefined) return;
    worker.terminatedAtMs = this.#parts.clock.monotonicMs();
    worker.endStatus ??= endStatus;
    if (worker.state !== WorkerState.DRAINING) {
      this.#set(worker, WorkerState.DRAINING);
      this.#tell((listener) => listener.leaving(worker));
    }
    worker.running?.stop();
    // After the signal, so that the SDK sees it before it asks again.
    this.#tell((listener) => listener.stopping(worker));
  }

  /** Ends it and all that it started at once. */
  kill(worker: Worker, endStatus: EndStatus): void {
    if (worker.hasEnded) return;
    worker.endStatus ??= endStatus;
    worker.terminatedAtMs ??= this.#parts.clock.monotonicMs();
    worker.running?.kill();
  }

  /** It said why it cannot work; it ends by itself or is ended. */
  unhealthy(worker: Worker, reason: string): void {
    this.terminate(worker, { state: WorkerState.UNHEALTHY, reason });
  }

  /** Ends those that took too long to start or to stop. Called often. */
  pass(): void {
    const now = this.#parts.clock.monotonicMs();
    for (const worker of this.#workers.values()) {
      if (worker.hasEnded) continue;
      if (worker.terminatedAtMs !== undefined) {
        if (now - worker.terminatedAtMs > this.#parts.terminateGraceMs) worker.running?.kill();
      } else if (worker.state === WorkerState.INITIALIZING) {
        const seconds = worker.spec.initTimeoutSeconds || INIT_TIMEOUT_SECONDS;
        if (now - worker.startedAtMs <= seconds * 1_000) continue;
        this.kill(worker, { state: WorkerState.UNHEALTHY, reason: `The worker did not ask for work within ${seconds} s.` });
      }
    }
  }

  /** Ends all workers and waits for their end, at most for the usual grace. */
  async stopAll(): Promise<void> {
    for (const worker of this.all()) this.terminate(worker, { state: WorkerState.STOPPED, reason: 'The agent was stopped.' });
    await Promise.all(this.#lives.values());
  }

  #start(request: DesiredWorker): void {
    const worker = new Worker({
      id: request.workerId,
      endpointId: request.endpointId,
      spec: request.spec!,
      token: this.#parts.random.bytes(TOKEN_BYTES).toString('base64url'),
      nowMs: this.#parts.clock.monotonicMs(),
    });
    this.#workers.set(worker.id, worker);
    if (request.desired === DesiredState.DRAIN) {
      // It ran before this agent did, and nothing outlives an agent.
      this.#set(worker, WorkerState.STOPPED);
      return;
    }
    this.#tell((listener) => listener.changed(worker));
    const life = this.#live(worker).then(() => this.#parts.starter.cleanUp(worker)).finally(() => this.#lives.delete(worker.id));
    this.#lives.set(worker.id, life);
  }

  async #live(worker: Worker): Promise<void> {
    const exit = await this.#parts.starter.run(worker).catch((error: unknown): UnitExit => {
      return { code: undefined, signal: undefined, failure: error instanceof Error ? error.message : String(error) };
    });
    worker.running = undefined;
    worker.exitCode = exit.code;
    const told = worker.endStatus ?? (worker.refresh && exit.code === 0 ? { state: WorkerState.STOPPED, reason: '' } : undefined);
    const tail = worker.log.tail(REASON_LOG_BYTES);
    if (!told) worker.reason = endReason(exit, worker.asked, tail);
    else worker.reason = told.state === WorkerState.UNHEALTHY ? withLog(told.reason, tail) : told.reason;
    // First the causes of its attempts, then its own end: core reads them in this order.
    worker.state = told?.state ?? WorkerState.UNHEALTHY;
    const cause = told?.reason ? told.reason : `The worker ${worker.id} ${describeExit(exit)} while it held the job.`;
    this.#tell((listener) => listener.ended(worker, cause));
    this.#tell((listener) => listener.changed(worker));
    this.#parts.logger.info({ workerId: worker.id, endpointId: worker.endpointId, exit, state: enumName(WorkerState, worker.state) }, 'worker ended');
    this.#forgetOldest();
  }

  #stopAtOnce(worker: Worker): void {
    const endStatus = { state: WorkerState.STOPPED, reason: '' };
    if (this.#parts.questions.isBusy(worker.id)) this.kill(worker, endStatus);
    else this.terminate(worker, endStatus);
  }

  #undrain(worker: Worker): void {
    this.#set(worker, worker.asked ? WorkerState.READY : WorkerState.INITIALIZING);
  }

  #set(worker: Worker, state: WorkerState): void {
    this.#parts.logger.debug({ workerId: worker.id, from: enumName(WorkerState, worker.state), to: enumName(WorkerState, state) }, 'worker changed its state');
    worker.state = state;
    this.#tell((listener) => listener.changed(worker));
  }

  #forgetOldest(): void {
    const ended = this.all().filter((worker) => this.#parts.questions.hasToldEnd(worker.id));
    for (const worker of ended.slice(0, Math.max(0, ended.length - ENDED_MAX))) this.#forget(worker.id);
  }

  #forget(workerId: string): void {
    this.#workers.delete(workerId);
    this.#tell((listener) => listener.forgotten(workerId));
  }

  #tell(what: (listener: PoolListener) => void): void {
    for (const listener of this.#listeners) what(listener);
  }
}
