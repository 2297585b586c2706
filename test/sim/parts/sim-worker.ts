/** Workers and attempts of a simulated machine, and how it reports them. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { HistoryEvent } from '../checker/history.ts';
import type { World } from '../world/world.ts';
import type { SimReplica } from './replica.ts';
import type { SimLink } from './sim-link.ts';

/** Input of a simulated job. */
export interface SimInput {
  /** Name of its client. */
  client: string;
  /** How long the handler runs, in milliseconds. */
  ms: number;
  /** It says FAILED. */
  fails?: boolean;
  /** Number of streamed pieces. */
  chunks?: number;
}

/** An attempt that runs. */
export interface Execution {
  ref: AttemptRef;
  token: string;
  /** Pieces that core has not acknowledged. */
  chunks: { number: number; output: Buffer }[];
  /** Number of all of its pieces. */
  streamed: number;
  /** The link over which it came. */
  link: SimLink | undefined;
}

/** A running worker. */
export interface SimWorker {
  id: string;
  endpointId: string;
  concurrency: number;
  state: WorkerState;
  held: Map<string, Execution>;
}

/** Options of a machine. */
export interface SimMachineOptions {
  id: string;
  world: World;
  /** Replicas that can be reached. */
  replicas(): readonly SimReplica[];
  record(event: HistoryEvent): void;
}

/** Returns the name of an attempt. */
export function nameOf({ jobId, attempt }: AttemptRef): string {
  return `${jobId}/${attempt}`;
}

/** Returns a worker as its machine reports it. */
export function reportOf({ id, endpointId, state, concurrency }: SimWorker) {
  const capacity = state === WorkerState.READY ? concurrency : 0;
  return { workerId: id, endpointId, state, capacity, reason: '' };
}

/** Returns a machine as its hello describes it. */
export function machineFacts(id: string) {
  return {
    ...{ id, name: id, cpuSlots: 8, standbyMax: 0, cpuCount: 64, memoryMib: 262_144 },
    ...{ runsCommands: true, agentVersion: 'sim' },
  };
}
