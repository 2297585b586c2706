/** One worker as the agent knows it: what it was told, what it asked for, what it holds. Its process belongs to the pool. */
import { HttpHealth, WorkerState } from '../../../proto/gen/slipway/v1/machine.ts';
import type { WorkerReport, WorkerSpec } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { WORKER_LOG_BYTES_MAX } from '../../../proto/wire/limits.ts';
import type { Attempt } from '../../attempts/attempt.ts';
import type { LongPoll } from '../../bridge/long-poll.ts';
import { capacity } from './capacity.ts';
import type { CapacityFacts } from './capacity.ts';
import type { RunningUnit } from '../../executors/executor.ts';
import { LogRing } from '../../launch/log-ring.ts';
import { sdkTraits } from './sdk-traits.ts';
import type { SdkTraits } from './sdk-traits.ts';

/** A take that waits for jobs. */
export interface Take {
  poll: LongPoll;
  /** Jobs it asks for, 1 or more. */
  requested: number;
  /** It wants an array. */
  batch: boolean;
}

/** What the end of its process will mean, when the agent ended it. */
export interface EndStatus {
  state: WorkerState;
  /** Empty when it simply ended as it was told to. */
  reason: string;
}

export class Worker {
  readonly id: string;
  readonly endpointId: string;
  readonly spec: WorkerSpec;
  /** Proves to the bridge that a request is this worker's. */
  readonly token: string;
  /** By the steady clock. */
  readonly startedAtMs: number;
  readonly log = new LogRing(WORKER_LOG_BYTES_MAX);
  /** Written through WorkerPool only. */
  state: WorkerState = WorkerState.INITIALIZING;
  sdkVersion = '';
  traits: SdkTraits = sdkTraits('');
  /** It has asked for work. */
  asked = false;
  /** It wants to be replaced before its next job. */
  refresh = false;
  declared: number | undefined;
  running: RunningUnit | undefined;
  endStatus: EndStatus | undefined;
  /** When it was asked to end, by the steady clock. */
  terminatedAtMs: number | undefined;
  reason = '';
  exitCode: number | undefined;
  /** Jobs it was given, by job id. */
  readonly held = new Map<string, Attempt>();
  /** Attempts that wait for its next take, oldest first. */
  readonly waiting: Attempt[] = [];
  readonly takes = new Set<Take>();
  /** Waiting attempts are being gathered for one take. */
  gathering = false;
  readonly stopPolls = new Set<LongPoll>();
  /** Jobs to stop that no stop poll has carried yet. Each is about the worker's current attempt of the job, or its last. */
  readonly jobsToStop = new Set<string>();
  /** Attempts that should stop, some of which may have ended. */
  readonly stopping = new Set<Attempt>();
  /** As core last heard it. */
  reportedCapacity = -1;
  /** A report of its end was made for core. */
  endReported = false;

  constructor(options: { id: string; endpointId: string; spec: WorkerSpec; token: string; nowMs: number }) {
    this.id = options.id;
    this.endpointId = options.endpointId;
    this.spec = options.spec;
    this.token = options.token;
    this.startedAtMs = options.nowMs;
  }

  /** Nothing of it runs any more. */
  get hasEnded(): boolean {
    return this.state === WorkerState.UNHEALTHY || this.state === WorkerState.STOPPED;
  }

  /** It gets no more work. */
  get isLeaving(): boolean {
    return this.state !== WorkerState.INITIALIZING && this.state !== WorkerState.READY;
  }

  /** It gets nothing new until an attempt that should stop has ended. */
  get isBlocked(): boolean {
    for (const attempt of this.stopping) {
      if (attempt.phase === 'ended') this.stopping.delete(attempt);
      else if (attempt.stop?.blocks) return true;
    }
    return false;
  }

  /** Remembers the SDK version; true when that is news. */
  learnVersion(version: string): boolean {
    if (version === '' || version === this.sdkVersion) return false;
    this.sdkVersion = version;
    this.traits = sdkTraits(version);
    return true;
  }

  /** Input of the capacity rules. */
  facts(): CapacityFacts {
    let requested = 0;
    for (const take of this.takes) requested += take.requested;
    return {
      asked: this.asked,
      leaving: this.isLeaving,
      blocked: this.isBlocked,
      held: this.held.size,
      requested,
      declared: this.declared,
      configured: Math.max(1, this.spec.concurrency),
      traits: this.traits,
    };
  }

  /** What core is told. */
  report(): WorkerReport {
    return {
      workerId: this.id,
      endpointId: this.endpointId,
      state: this.state,
      capacity: this.hasEnded ? 0 : capacity(this.facts()),
      reason: this.reason,
      exitCode: this.exitCode,
      sdkVersion: this.sdkVersion,
      refresh: this.refresh,
      address: '',
      health: HttpHealth.UNSPECIFIED,
    };
  }
}
