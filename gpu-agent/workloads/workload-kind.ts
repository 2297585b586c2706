/** The interface by which the driver of all workloads (workload.ts) handles each kind of them. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Executor, Launch, RunningWorkload, WorkloadExit } from '../executors/executor.ts';
import type { GpuHandover } from '../launch/gpu-handover.ts';
import type { StartGate } from './start-gate.ts';
import type { Desired, EndCause, Policy } from './step.ts';

/** GPU memory of a workload that can be moved to host memory. */
export interface WorkloadMemory {
  /** Nothing of it is on its GPUs. */
  readonly isOffloaded: boolean;
  /** Moves its memory off its GPUs and freezes it. Returns false if that failed: it must be ended. Never rejects. */
  offload(running: RunningWorkload, wasFrozen: boolean): Promise<boolean>;
  /** Thaws it and moves its memory back. Returns false if that failed: it must be ended. Never rejects. */
  restore(running: RunningWorkload): Promise<boolean>;
  /** Called when it runs. */
  started(running: RunningWorkload): void;
  /** Called when it has ended. */
  ended(): void;
}

/** A kind of workload: a worker or a pod. */
export interface WorkloadKind {
  readonly policy: Policy;
  /** Fields that name it in log lines. */
  readonly ids: Readonly<Record<string, string>>;
  /** GPUs that it holds from its preparation to its end. */
  readonly gpuUuids: readonly string[];
  /** Its GPU memory. `undefined` if it is never moved. */
  readonly memory?: WorkloadMemory | undefined;
  /** Returns whether it holds attempts. */
  isBusy(): boolean;
  /** Returns the executor that runs it. `undefined` if no executor of this machine can. */
  executor(): Executor | undefined;
  /**
   * Prepares its own resources, for instance folders, and returns what to start. Rejects with the reason; a
   * PrepareError with REFUSED is final. `progress` gets lines for people; `signal` aborts when it is not wanted any
   * more.
   */
  launch(
    desired: Desired,
    progress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<{ launch: Launch; executor: Executor }>;
  /** Called when its phase, desired state or progress changed. */
  changed(): void;
  /** Called with each piece of its output. */
  output(bytes: Buffer): void;
  /** Called when it is unknown whether a previous agent left it running. It counts as ended. */
  adoptionFailed?(error: unknown): void;
  /** Called when it could not be resumed or frozen, for this reason, and is about to be ended. */
  standbyFailed?(reason: string): void;
  /** Called when it is about to end for this reason. */
  ending(why: EndCause): void;
  /** Called when it runs. */
  started(): void;
  /** Called when it was asked to end. */
  stopping(): void;
  /**
   * Called when it has ended or could not be started, before `changed`. `pauseMs`: milliseconds until it is started
   * again; Infinity: when the desired state changes.
   */
  exited(exit: WorkloadExit, pauseMs: number | undefined): void;
  /** Cleans up its files, for this disk if one is named, and archives its log. Never rejects. */
  cleanUpFiles(disk: number | undefined): Promise<void>;
  /** Removes its own resources. If it rejects, it is called again later. */
  remove(): Promise<void>;
}

/** Called when a start has ended: the workload is started, could not be started, or was not wanted any more. */
export type OnStart = (result: 'started' | 'failed' | 'abandoned', tookMs: number) => void;

/** Dependencies that all workloads of a machine share. */
export interface WorkloadParts {
  handover: GpuHandover;
  starts: StartGate;
  /** Default: starts are not counted. */
  onStart?: OnStart | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}
