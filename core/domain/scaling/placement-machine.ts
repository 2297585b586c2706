/** Machines and requests as placement sees them. Logged with decisions: member names are persisted. */
import type { OffloadBudget } from '../machines/standby-budget.ts';
import type { LocalCrashes } from './machine-crashes.ts';
import type { PlacementStandby } from './standby/standby-eviction.ts';

/** How a container engine passes GPUs to containers. VIRTUAL if there is nothing to pass. */
export type GpuHandover = 'NONE' | 'CDI' | 'DEVICE_REQUEST' | 'VIRTUAL';

/** A GPU of a machine. */
export interface PlacementGpu {
  uuid: string;
  name: string;
  migProfile: string;
  /** A worker or pod has it, or a program outside Slipway. */
  used: boolean;
  /** Program outside Slipway that holds it. Absent: none. */
  occupiedBy?: string;
  /** Only a standby worker has it, which is evicted or offloaded when the GPU is assigned. */
  standby: boolean;
  /** A running worker has it that is offloaded if nothing else is free (standby-offload.ts). Absent if not. */
  movable?: true;
  /** Why nothing may run on it. Empty if it is healthy. */
  unhealthy: string;
  /**
   * Memory in GB, if it is much less than its type has: the GPU then does not count as this type. Absent if the memory
   * is as expected.
   */
  shortGb?: number;
}

/** A machine as placement sees it. */
export interface PlacementMachine {
  id: string;
  name: string;
  /** Its agent has a session and renews its lease. */
  connected: boolean;
  /** Its agent was last seen more than GONE_AFTER_MINUTES ago: the machine counts as removed. */
  gone: boolean;
  /** Its operator accepts no new work on it. */
  cordoned: boolean;
  gpus: readonly PlacementGpu[];
  locations: readonly string[];
  /** Total and used slots for workers without a GPU. */
  cpuSlots: number;
  cpuSlotsUsed: number;
  /**
   * CPUs and memory in GB, in total and as used by workers and pods with a size. A total of 0 is unknown and never
   * short.
   */
  vcpus: number;
  vcpusUsed: number;
  memoryGb: number;
  memoryGbUsed: number;
  cudaVersion: string;
  /** Number of workers of the same endpoint on it. */
  siblings: number;
  /** Standby workers on it, and their maximum number. They are not part of the other counts. */
  standbys: readonly PlacementStandby[];
  standbyMax: number;
  /** Its budget for offloaded workers. Absent if it cannot offload. */
  offload?: OffloadBudget;
  /** Its operator allows host commands. */
  runsCommands: boolean;
  /** Its container engine, `undefined` if there is none. */
  engine: { gpuHandover: GpuHandover; name?: string } | undefined;
  /** Why it has no container engine, for people. Empty if it has one. */
  noEngineReason: string;
  /** It has the requested image. */
  hasImage: boolean;
  /** Most that models may take on its disk, in bytes. 0 or absent: it takes none. */
  modelLimitBytes?: number;
  /** Progress of the requested models on it. Absent if it lacks one and does not download it. */
  models?: 'READY' | 'DOWNLOADING';
  /** Its image disk is nearly full. Absent if there is space, or if that is unknown. */
  lacksRoom?: true;
  /** Endpoints for which workers here are preempted, one entry per worker. Absent if there are none. */
  preemptedFor?: readonly string[];
  /** Milliseconds until it leaves. Absent: not known. */
  leavesInMs?: number;
  /** Crashes of workers of the same endpoint on it. Absent if there are none. */
  crashes?: LocalCrashes;
}

/** Least processors and memory in GB of a machine. 0: any. */
export interface HostMinimum {
  vcpus: number;
  memoryGb: number;
}

/** Requirements of a worker or pod. */
export interface PlacementRequest {
  /** The image to run. Empty for a host command. */
  imageName: string;
  gpuIds: readonly string[];
  gpuCount: number;
  /** Sizes without a GPU, in order of preference. Empty for any. */
  instanceIds: readonly string[];
  locations: readonly string[];
  allowedCudaVersions: readonly string[];
  /** Data centers of its network volumes; it must run in one of them. Empty without volumes. */
  dataCenterIds: readonly string[];
  /** Absent: any machine. */
  hostMinimum?: HostMinimum;
  /** Models that must be on the machine. Absent or empty: none. */
  modelReferences?: readonly string[];
  /** Bytes of the models, as far as known. */
  modelBytes?: number;
  /** Longest run of one of its jobs. Absent for a pod. */
  executionTimeoutMs?: number;
  /** No registry has the image, and some machine does: only such machines can run it. Absent if not. */
  imageOnMachines?: true;
}

/** Returns whether an image is only in the engines of machines: no registry can have this name. */
export function isLocalImage(imageName: string): boolean {
  return imageName.startsWith('localhost/');
}

/** Returns the name under which machines report an image. Engines give a local image without a tag the tag latest. */
export function reportedName(imageName: string): string {
  return isLocalImage(imageName) && !/[:@]/.test(imageName) ? `${imageName}:latest` : imageName;
}

/**
 * Returns the request limited to machines with its image, if no registry has it and a machine does. While no machine
 * reports it, any may have it: agents report images every ten seconds.
 */
export function whereImageIs<Request extends PlacementRequest>(
  machines: readonly PlacementMachine[],
  request: Request,
): Request {
  if (!isLocalImage(request.imageName) || !machines.some(({ gone, hasImage }) => !gone && hasImage)) return request;
  return { ...request, imageOnMachines: true };
}

/** Returns machines as seen by an endpoint whose image is on these. `undefined`: it is not known where it is. */
export function withImages(
  machines: readonly PlacementMachine[],
  machineIds: ReadonlySet<string> | undefined,
): PlacementMachine[] {
  if (!machineIds) return [...machines];
  return machines.map((machine) => (machineIds.has(machine.id) ? { ...machine, hasImage: true } : machine));
}
