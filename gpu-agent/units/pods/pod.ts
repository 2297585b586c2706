/**
 * One pod of this machine, from being asked for to being gone. It makes of its process what core wants last: run, another run, stand still,
 * go. A process that ends by itself is started again after a pause that grows. Nothing here looks at the session or at the lease: a pod
 * belongs to one machine for its whole life and nobody else may ever run it, so it goes on while core cannot be reached.
 */
import { backoffMs } from '../../../core/runtime/backoff.ts';
import { delay } from '../../../core/runtime/clock.ts';
import type { Clock, Random } from '../../../core/runtime/clock.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { DesiredPod, PodReport } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { PodState } from '../../../proto/gen/slipway/v1/pod.ts';
import { WORKER_LOG_BYTES_MAX } from '../../../proto/wire/limits.ts';
import { REASON_LOG_BYTES, describeExit, withLog } from '../../launch/end-reason.ts';
import type { RunningUnit, UnitExit } from '../../executors/executor.ts';
import type { GpuHandover } from '../../launch/gpu-handover.ts';
import type { LogArchive } from '../../launch/log-archive.ts';
import { LogRing } from '../../launch/log-ring.ts';
import type { PodFiles } from './pod-files.ts';
import type { PodStarter } from './pod-starter.ts';

/** Pauses before a process that ended by itself is started again: from 1 to 60 s. */
const PAUSE = { firstMs: 2_000, maxMs: 60_000 };
/** A process that ran for this long has proven itself: the next pause is the shortest again. */
const PROVEN_MS = 60_000;
/** Pause before files that could not be removed are tried again. */
const REMOVE_PAUSE_MS = 5_000;

/** What all pods of a machine share. */
export interface PodParts {
  starter: PodStarter;
  files: PodFiles;
  archive: LogArchive;
  handover: GpuHandover;
  /** How long a process may take to end after SIGTERM, in milliseconds. */
  terminateGraceMs: number;
  /** Core must be told something about it. */
  onChanged(podId: string): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class Pod {
  readonly id: string;
  readonly log = new LogRing(WORKER_LOG_BYTES_MAX);
  readonly #parts: PodParts;
  /** Undefined: it shall go. */
  #request: DesiredPod | undefined;
  /** Aborted when the request changes. */
  #change = new AbortController();
  #report: PodReport;
  /** What its process has, from before its start to its end. */
  #using: { gpuUuids: readonly string[]; ended: Promise<void> } | undefined;
  #failures = 0;
  #closing = false;

  constructor(request: DesiredPod, parts: PodParts) {
    this.id = request.podId;
    this.#parts = parts;
    this.#request = request;
    this.#report = { podId: request.podId, run: request.run, state: PodState.STARTING, reason: '', exitCode: undefined };
  }

  /** What core is told. */
  report(): PodReport {
    return this.#report;
  }

  /** What core wants of it now; undefined: that it and its files go. */
  want(request: DesiredPod | undefined): void {
    const before = this.#request;
    const same = before && request && before.running === request.running && before.run === request.run && before.disk === request.disk;
    if (same || (!before && !request)) return;
    this.#request = request;
    this.#failures = 0;
    // At once: whoever is to have its GPUs now may be in the same message.
    if (this.#using) this.#parts.handover.leave(this.#using.gpuUuids, this.#using.ended);
    this.#wake();
  }

  /** Ends its process and keeps its files: the agent stops. */
  close(): void {
    this.#closing = true;
    this.#wake();
  }

  /** Lives until it shall go or the agent stops. Never rejects. */
  async live(): Promise<void> {
    while (!this.#closing) {
      const request = this.#request;
      const { signal } = this.#change;
      if (!request) {
        if (await this.#remove(signal)) return;
      } else if (request.running) await this.#run(request, signal);
      else await this.#stand(request, signal);
    }
    await this.#keepLog();
  }

  #wake(): void {
    const before = this.#change;
    this.#change = new AbortController();
    before.abort();
  }

  async #stand(request: DesiredPod, signal: AbortSignal): Promise<void> {
    const { files, logger } = this.#parts;
    await files.open(this.id, request.disk)
      .catch((error: unknown) => logger.warn({ err: error, podId: this.id }, 'disks of a pod were not removed'));
    await this.#keepLog();
    this.#tell(request, PodState.EXITED);
    await aborted(signal);
  }

  async #run(request: DesiredPod, signal: AbortSignal): Promise<void> {
    const { starter, clock, logger } = this.#parts;
    const refusal = request.spec ? starter.refusal(request.spec) : 'Core did not say how to start the pod.';
    if (refusal !== undefined) {
      this.#tell(request, PodState.FAILED, refusal);
      return aborted(signal);
    }
    if (this.#report.run !== request.run || this.#report.state === PodState.EXITED) this.#tell(request, PodState.STARTING);
    const startedAtMs = clock.monotonicMs();
    const exit = await this.#once(request, signal).catch((error: unknown): UnitExit => {
      return { code: undefined, signal: undefined, failure: error instanceof Error ? error.message : String(error) };
    });
    if (!exit) return;
    if (clock.monotonicMs() - startedAtMs >= PROVEN_MS) this.#failures = 0;
    this.#failures += 1;
    const pauseMs = backoffMs(this.#failures, PAUSE, this.#parts.random);
    const reason = `The pod ${describeExit(exit)}. It is started again after ${Math.ceil(pauseMs / 1_000)} s.`;
    this.#tell(request, PodState.FAILED, withLog(reason, this.log.tail(REASON_LOG_BYTES)), exit.code);
    logger.info({ podId: this.id, run: request.run, exit, failures: this.#failures }, 'pod ended by itself');
    await delay(clock, pauseMs, signal);
  }

  /** One process, to its end. Undefined: it was ended because something else is wanted. */
  async #once(request: DesiredPod, signal: AbortSignal): Promise<UnitExit | undefined> {
    const { gpuUuids } = request.spec!;
    await Promise.race([this.#parts.handover.free(gpuUuids), aborted(signal)]);
    if (signal.aborted) return undefined;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#using = { gpuUuids, ended };
    try {
      return await this.#process(request, signal);
    } finally {
      this.#using = undefined;
      end();
    }
  }

  async #process(request: DesiredPod, signal: AbortSignal): Promise<UnitExit | undefined> {
    const running = await this.#parts.starter.start(request, request.spec!, (bytes) => this.log.write(bytes));
    if (!signal.aborted) this.#tell(request, PodState.RUNNING);
    const exit = await Promise.race([running.ended, aborted(signal)]);
    if (exit && !signal.aborted) return exit;
    await this.#end(running);
    if (this.#closing) this.#tell(request, PodState.STARTING, 'Its agent was stopped; the next one starts it again.');
    return undefined;
  }

  async #end(running: RunningUnit): Promise<void> {
    const { clock, terminateGraceMs } = this.#parts;
    running.stop();
    const timer = clock.after(terminateGraceMs, () => running.kill());
    await running.ended;
    timer.cancel();
  }

  /** So that it can be read from the next agent too. */
  async #keepLog(): Promise<void> {
    const { archive, logger } = this.#parts;
    if (this.log.size === 0) return;
    await archive.keep(this.id, this.log.tail(this.log.size))
      .catch((error: unknown) => logger.warn({ err: error, podId: this.id }, 'log was not kept'));
  }

  /** True: nothing is left and nothing else was wanted meanwhile. */
  async #remove(signal: AbortSignal): Promise<boolean> {
    const { files, archive, clock, logger } = this.#parts;
    try {
      await files.remove(this.id);
      await archive.drop(this.id);
      logger.info({ podId: this.id }, 'pod removed');
    } catch (error) {
      logger.warn({ err: error, podId: this.id }, 'files of a pod were not removed, will try again');
      await delay(clock, REMOVE_PAUSE_MS, signal);
      return false;
    }
    return !this.#request;
  }

  #tell(request: DesiredPod, state: PodState, reason = '', exitCode?: number): void {
    this.#report = { podId: this.id, run: request.run, state, reason, exitCode };
    this.#parts.onChanged(this.id);
  }
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
