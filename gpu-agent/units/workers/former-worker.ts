/** A worker that an earlier run of the agent left running: its container outlives the agent. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';

/** What is known of it. */
export interface FormerWorker {
  endpointId: string;
  /** By which the bridge knows it. */
  token: string;
  /** What is needed of it for a worker that runs: no environment and no credentials. */
  spec: WorkerSpec;
  /** Version of its SDK; empty until it told. */
  sdk: string;
  /** It has asked for work. */
  asked: boolean;
  /** It stood still. */
  frozen: boolean;
  /** It wants to be replaced before its next job. */
  refresh: boolean;
}
