/** A worker that a previous run of the agent left running: its container outlives the agent. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';

import type { MemoryRecord } from './worker-memory.ts';

/** Record of such a worker. */
export interface PreviousWorker {
  endpointId: string;
  /** Token by which the bridge authenticates the worker. */
  token: string;
  /** The parts of its spec that a running worker needs: no environment and no credentials. */
  spec: WorkerSpec;
  /** Version of its SDK; empty until the worker reported it. */
  sdk: string;
  /** It has asked for work. */
  asked: boolean;
  /** It was on standby. */
  frozen: boolean;
  /** Where its GPU memory was. */
  memory: MemoryRecord;
  /** It wants to be replaced before its next job. */
  refresh: boolean;
}
