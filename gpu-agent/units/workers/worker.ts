/** One worker as the agent knows it: what it is, what it does, how it ended. Its process belongs to the pool. */
import { WorkerState } from '../../../proto/gen/slipway/v1/machine.ts';
import type { WorkerSpec } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { WORKER_LOG_BYTES_MAX } from '../../../proto/wire/limits.ts';
import type { RunningUnit } from '../../executors/executor.ts';
import { LogRing } from '../../launch/log-ring.ts';
import { sdkTraits } from './sdk-traits.ts';
import type { SdkTraits } from './sdk-traits.ts';

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
  running: RunningUnit | undefined;
  endStatus: EndStatus | undefined;
  /** When it was asked to end, by the steady clock. */
  terminatedAtMs: number | undefined;
  reason = '';
  exitCode: number | undefined;

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

  /** Remembers the SDK version; true when that is news. */
  learnVersion(version: string): boolean {
    if (version === '' || version === this.sdkVersion) return false;
    this.sdkVersion = version;
    this.traits = sdkTraits(version);
    return true;
  }
}
