/** Workers and attempts of a simulated machine, and how it reports them. */
import type { AttemptRef, DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
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
  /** Where it serves HTTP. Empty: it takes jobs. */
  address: string;
  held: Map<string, Execution>;
}

/** A machine, as faults and samples see it. */
export interface Machine {
  readonly id: string;
  /** Its agent runs. */
  readonly isUp: boolean;
  /** Attempts that run. */
  readonly running: AttemptRef[];
  /** It has outcomes that core has not acknowledged. */
  readonly owesOutcomes: boolean;
  /** Returns the number of its workers of an endpoint that wait for jobs. */
  idleWorkers(endpointId: string): number;
  /** Breaks its session. Returns false if it has none. */
  cut(): boolean;
  /** Makes its session half-open. Returns false if it has none. */
  silence(): boolean;
  /** Kills its agent. `losesDisk`: the power fails, and what was on its disk may be lost. */
  die(losesDisk: boolean): void;
  /** Says what is not true of an attempt. */
  lie?(others: readonly AttemptRef[]): void;
  /** Makes its disk full for a while. */
  fillDisk?(): void;
  /** Starts another agent with its identity for a while. */
  startTwin?(): void;
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
export function nameOf({ jobId, attempt }: Pick<AttemptRef, 'jobId' | 'attempt'>): string {
  return `${jobId}/${attempt}`;
}

/** Returns a worker that begins to start. */
export function newWorker({ workerId: id, endpointId, spec }: DesiredWorker): SimWorker {
  return {
    ...{ id, endpointId, concurrency: spec?.concurrency ?? 1, state: WorkerState.INITIALIZING, held: new Map() },
    address: spec?.httpServer ? `${id}.sim:80` : '',
  };
}

/** Returns the number of workers of an endpoint that wait for jobs. */
export function countIdle(workers: readonly SimWorker[], endpointId: string): number {
  const isIdle = ({ endpointId: endpoint, state, held }: SimWorker): boolean =>
    endpoint === endpointId && state === WorkerState.READY && held.size === 0;
  return workers.filter(isIdle).length;
}

/** Returns a worker as its machine reports it. */
export function reportOf({ id, endpointId, state, concurrency, address }: SimWorker) {
  const isReady = state === WorkerState.READY;
  const capacity = isReady && address === '' ? concurrency : 0;
  const http = address !== '' && { address, health: isReady ? HttpHealth.READY : HttpHealth.INITIALIZING };
  return { workerId: id, endpointId, state, capacity, reason: '', ...http };
}

/** Returns a machine as its hello describes it. */
export function machineFacts(id: string) {
  return {
    ...{ id, name: id, cpuSlots: 8, standbyMax: 0, cpuCount: 64, memoryMib: 262_144 },
    ...{ runsCommands: true, agentVersion: 'sim' },
  };
}
