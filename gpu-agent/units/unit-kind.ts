/** What differs between kinds of units, as the one driver of both (unit.ts) sees it. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Executor, Launch, UnitExit } from '../executors/executor.ts';
import type { GpuHandover } from '../launch/gpu-handover.ts';
import type { StartGate } from './start-gate.ts';
import type { Desired, EndCause, Policy } from './step.ts';

/** A worker or a pod. */
export interface UnitKind {
  readonly policy: Policy;
  /** What names it in lines of the log. */
  readonly ids: Readonly<Record<string, string>>;
  /** GPUs that it has from its preparation to its end. */
  readonly gpuUuids: readonly string[];
  /** It holds attempts. */
  isBusy(): boolean;
  /** What runs it. Undefined: nothing on this machine can. */
  executor(): Executor | undefined;
  /**
   * Makes ready what is its own, folders for instance, and says what to start. Rejects with the reason; PrepareError
   * REFUSED: for good.
   */
  launch(desired: Desired): Promise<{ launch: Launch; executor: Executor }>;
  /** Its phase, what is wanted of it or its progress changed. */
  changed(): void;
  /** It wrote this. */
  output(bytes: Buffer): void;
  /** It is about to end because of this. */
  ending(why: EndCause): void;
  /** It runs. */
  started(): void;
  /** It was asked to end. */
  stopping(): void;
  /**
   * It has ended, or could not be started. `pauseMs`: it is started again after so long; Infinity: when something else
   * is wanted. Before `changed`.
   */
  exited(exit: UnitExit, pauseMs: number | undefined): void;
  /** Brings its files in order, for this disk if one is named, and keeps its log. Never rejects. */
  settleFiles(disk: number | undefined): Promise<void>;
  /** Removes what is its own. When it rejects it is tried again. */
  remove(): Promise<void>;
}

/** A start has ended: the unit is started, could not be started, or was not wanted any more. */
export type OnStart = (result: 'started' | 'failed' | 'abandoned', tookMs: number) => void;

/** What all units of a machine share. */
export interface UnitParts {
  handover: GpuHandover;
  starts: StartGate;
  /** Default: nobody counts. */
  onStart?: OnStart | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}
