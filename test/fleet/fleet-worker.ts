/** What a simulated machine is, and a worker on it. */
import type { AttemptRef } from '../../proto/gen/slipway/v1/agent_service.ts';
import { GpuHandover, WorkerState } from '../../proto/gen/slipway/v1/machine.ts';
import type { Gpu } from '../../proto/gen/slipway/v1/machine.ts';
import type { SeededRandom } from '../helpers/random-of.ts';
import type { FleetLengths } from './lengths.ts';

/** About when endpoints that are idle for a second give their workers up, in milliseconds after a job: what crashes then may be told to go that moment. */
const IDLE_CRASH_MS = { least: 900, most: 2_400 };

/** Every machine's. */
export const ENGINE = { name: 'fleet', version: '1', gpuHandover: GpuHandover.CDI, limits: [], imageTotalMib: 0, imageFreeMib: 0 };

/** How it is and behaves. */
export interface FleetMachineOptions {
  id: string;
  agentKey: string;
  /** Where core listens now; it takes any. */
  addresses(): readonly string[];
  gpus: Omit<Gpu, 'displayName'>[];
  /** Times that everything takes here; 1 is normal. */
  slowness: number;
  random: SeededRandom;
  lengths: FleetLengths;
  /** Jobs whose input says `hold` run until this is settled. */
  held(): Promise<unknown>;
  /** Shares of starts and of attempts at which the worker crashes. */
  crashShare: number;
  onFault(text: string): void;
}

/** One of its workers. */
export interface FleetWorker {
  id: string;
  endpointId: string;
  gpuUuids: string[];
  concurrency: number;
  state: WorkerState;
  /** Attempts that run, by name. */
  held: Map<string, AttemptRef>;
  /** How it ends once core has acknowledged all that it did. */
  end: { state: WorkerState; reason: string } | undefined;
  /** Its process has ended: others may have its GPUs. */
  over: PromiseWithResolvers<void>;
}

/** What is told of one. */
export type FleetReport = ReturnType<typeof reportOf> & { exitCode?: number };

/** What it tells of itself. */
export function machineOf({ id, gpus }: FleetMachineOptions) {
  return {
    id, name: id, gpus, locations: [], cpuSlots: 4, standbyMax: 4, cpuCount: 0, memoryMib: 0, cpuModel: '', agentVersion: 'fleet', cudaVersion: '',
    runsCommands: true, noEngineReason: '', containerEngine: ENGINE,
  };
}

/** What its machine tells of it. */
export function reportOf({ id, endpointId, state, concurrency }: FleetWorker) {
  return { workerId: id, endpointId, state, capacity: state === WorkerState.READY ? concurrency : 0, reason: '' };
}

/** Those that have a GPU of a worker's. */
export function conflictsOf({ gpuUuids }: FleetWorker, others: Iterable<FleetWorker>): FleetWorker[] {
  return [...others].filter((other) => other.gpuUuids.some((uuid) => gpuUuids.includes(uuid)));
}

/** It was told to end, or has ended and waits for core to know of all that it did. */
export function isLeaving({ end, state }: FleetWorker): boolean {
  return end !== undefined || state === WorkerState.DRAINING;
}

/** When a worker that has nothing more to do crashes, in milliseconds. */
export function idleCrashMs(random: SeededRandom): number {
  return IDLE_CRASH_MS.least + random.below(IDLE_CRASH_MS.most - IDLE_CRASH_MS.least);
}

/** Names an attempt. */
export function nameOf({ jobId, attempt }: AttemptRef): string {
  return `${jobId}/${attempt}`;
}
