/** Types of a simulated machine and its workers. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Gpu } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuHandover, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { SeededRandom } from '../helpers/time/random-of.ts';
import type { FleetLengths } from './lengths.ts';

/**
 * About when endpoints with an idle timeout of one second drain their workers, in milliseconds after a job: a worker
 * that crashes then may be drained at that moment.
 */
const IDLE_CRASH_MS = { least: 900, most: 2_400 };

/** Shared by all machines. */
export const ENGINE = {
  name: 'fleet',
  version: '1',
  gpuHandover: GpuHandover.CDI,
  limits: [],
  imageTotalMib: 0,
  imageFreeMib: 0,
};

/** Configuration and behaviour. */
export interface FleetMachineOptions {
  id: string;
  agentKey: string;
  /** Returns the address of a core replica. */
  addresses(): readonly string[];
  gpus: Omit<Gpu, 'displayName'>[];
  /** Factor on all durations, 1 by default. */
  slowness: number;
  random: SeededRandom;
  lengths: FleetLengths;
  /** Jobs whose input says `hold` run until this is settled. */
  held(): Promise<unknown>;
  /** Shares of starts and of attempts at which the worker crashes. */
  crashShare: number;
  onFault(text: string): void;
}

/** A worker of the machine. */
export interface FleetWorker {
  id: string;
  endpointId: string;
  gpuUuids: string[];
  concurrency: number;
  state: WorkerState;
  /** Running attempts by name. */
  held: Map<string, AttemptRef>;
  /** State and reason to report once core has acknowledged all outcomes. */
  end: { state: WorkerState; reason: string } | undefined;
  /** Its process has ended: its GPUs are free. */
  over: PromiseWithResolvers<void>;
}

/** Report about a worker. */
export type FleetReport = ReturnType<typeof reportOf> & { exitCode?: number };

/** Returns a machine as it reports itself. */
export function machineOf({ id, gpus }: FleetMachineOptions) {
  return {
    id,
    name: id,
    gpus,
    locations: [],
    cpuSlots: 4,
    standbyMax: 4,
    cpuCount: 0,
    memoryMib: 0,
    cpuModel: '',
    agentVersion: 'fleet',
    cudaVersion: '',
    runsCommands: true,
    noEngineReason: '',
    containerEngine: ENGINE,
  };
}

/** Returns the report of its machine. */
export function reportOf({ id, endpointId, state, concurrency }: FleetWorker) {
  return { workerId: id, endpointId, state, capacity: state === WorkerState.READY ? concurrency : 0, reason: '' };
}

/** Workers that have one of a worker's GPUs. */
export function conflictsOf({ gpuUuids }: FleetWorker, others: Iterable<FleetWorker>): FleetWorker[] {
  return [...others].filter((other) => other.gpuUuids.some((uuid) => gpuUuids.includes(uuid)));
}

/** Returns whether it is draining, or has ended and waits for acknowledgements. */
export function isLeaving({ end, state }: FleetWorker): boolean {
  return end !== undefined || state === WorkerState.DRAINING;
}

/** When an idle worker crashes, in milliseconds. */
export function idleCrashMs(random: SeededRandom): number {
  return IDLE_CRASH_MS.least + random.below(IDLE_CRASH_MS.most - IDLE_CRASH_MS.least);
}

/** Returns the name of an attempt. */
export function nameOf({ jobId, attempt }: AttemptRef): string {
  return `${jobId}/${attempt}`;
}
