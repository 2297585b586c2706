/** Where a new worker goes. Pure: small filters, each able to say why it refuses, then a choice among what is left. */
import { cpuSize } from './cpu-size.ts';
import type { CpuSize } from './cpu-size.ts';
import { gpuPreference, sameCard } from './gpu-pools.ts';
import { standbysInTheWay } from './standby-eviction.ts';
import type { PlacementStandby } from './standby-eviction.ts';
import { refusalOfAll } from './placement-refusal.ts';
import type { MachineRefusal, PlacementRefusal, RefusalKind } from './placement-refusal.ts';

/** A GPU of a machine. */
export interface PlacementGpu {
  uuid: string;
  name: string;
  migProfile: string;
  /** A worker has it. */
  used: boolean;
  /** Only a frozen worker has it, which goes when it is given to another. */
  standby: boolean;
}

/** A machine as placement sees it. */
export interface PlacementMachine {
  id: string;
  name: string;
  /** Its agent has a session and extends its lease. */
  connected: boolean;
  /** Its agent was not heard for long (GONE_AFTER_MINUTES): it is taken for one that has left. */
  gone: boolean;
  gpus: readonly PlacementGpu[];
  locations: readonly string[];
  /** Workers without a GPU that it can run, and that it runs. */
  cpuSlots: number;
  cpuSlotsUsed: number;
  /** Processors and memory in GB, and what workers and pods with a size have of them. A total of 0 is not known and never short. */
  vcpus: number;
  vcpusUsed: number;
  memoryGb: number;
  memoryGbUsed: number;
  cudaVersion: string;
  /** Workers of the same endpoint that it runs. */
  siblings: number;
  /** Its frozen workers. Nothing else of the machine counts them. */
  standbys: readonly PlacementStandby[];
}

/** What the worker needs. */
export interface PlacementRequest {
  gpuIds: readonly string[];
  gpuCount: number;
  /** Sizes without a GPU, in order of preference. Empty: any. */
  instanceIds: readonly string[];
  locations: readonly string[];
  allowedCudaVersions: readonly string[];
  /** Data centres of its network volumes: it must run in one of them. Empty: it has no volume. */
  dataCenterIds: readonly string[];
}

/** A machine, and what is given of it. */
export interface PlacementPlace {
  machineId: string;
  gpuUuids: string[];
  /** The size; empty for none. */
  instanceId: string;
  /** Frozen workers that must go for it. */
  evicted: string[];
}

/** A place, or why there is none. */
export type Placement = PlacementPlace | PlacementRefusal;

/** After so many minutes without its agent a machine is taken for one that has left. */
export const GONE_AFTER_MINUTES = 10;

/** Says why a machine cannot take the worker, or nothing. */
type Filter = (machine: PlacementMachine, request: PlacementRequest) => MachineRefusal | undefined;

const connected: Filter = (machine) => (machine.connected ? undefined : no('AWAY', 'its agent is not connected'));

const location: Filter = (machine, request) => {
  if (request.locations.length === 0 || request.locations.some((place) => machine.locations.includes(place))) return undefined;
  return no('LOCATION', `it is in ${machine.locations.join(', ') || 'no location'}, not in ${request.locations.join(', ')}`);
};

const volume: Filter = (machine, request) => {
  if (request.dataCenterIds.length === 0 || request.dataCenterIds.some((id) => machine.locations.includes(id))) return undefined;
  const where = machine.locations.join(', ') || 'no location';
  return no('VOLUME', `it is in ${where}, and the network volumes are in ${request.dataCenterIds.join(', ')}`);
};

const cuda: Filter = (machine, request) => {
  if (request.allowedCudaVersions.length === 0 || request.allowedCudaVersions.some((version) => supports(machine.cudaVersion, version))) {
    return undefined;
  }
  return no('CUDA', `its driver supports CUDA ${machine.cudaVersion || 'nothing'}, not ${request.allowedCudaVersions.join(' or ')}`);
};

const gpuType: Filter = (machine, request) => {
  if (request.gpuCount === 0) return undefined;
  if (machine.gpus.some((gpu) => rankOf(gpu, request) !== undefined)) return undefined;
  const names = new Set(machine.gpus.map((gpu) => gpu.name));
  return names.size === 0 ? no('NO_GPU', 'it has no GPU') : no('OTHER_GPUS', `none of its GPUs (${[...names].join(', ')}) is asked for`);
};

const gpuRoom: Filter = (machine, request) => {
  if (request.gpuCount === 0 || choice(machine, request) !== undefined) return undefined;
  const free = machine.gpus.filter((gpu) => !gpu.used && rankOf(gpu, request) !== undefined).length;
  return no('GPUS_TAKEN', `${request.gpuCount} of one type are needed and ${free} of the GPUs asked for are free`);
};

const cpuRoom: Filter = (machine, request) => {
  if (request.gpuCount > 0 || machine.cpuSlotsUsed < machine.cpuSlots) return undefined;
  return no('SLOTS_TAKEN', `all of its ${machine.cpuSlots} slots for workers without a GPU are taken`);
};

const sizeRoom: Filter = (machine, request) => {
  if (request.instanceIds.length === 0 || sizeFor(machine, request)) return undefined;
  const [vcpus, memoryGb] = freeOf(machine);
  const free = [...(vcpus === Infinity ? [] : [`${vcpus} of ${machine.vcpus} processors`]),
    ...(memoryGb === Infinity ? [] : [`${memoryGb} of ${machine.memoryGb} GB`])];
  return no('SIZE_TAKEN', `${request.instanceIds.join(' or ')} is asked for and ${free.join(' and ')} are free`);
};

/** In the order in which a person would ask. */
const FILTERS: readonly Filter[] = [connected, location, volume, cuda, gpuType, gpuRoom, cpuRoom, sizeRoom];

/** Why a machine cannot take the worker, or undefined when it can. */
export function machineRefusal(machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  for (const filter of FILTERS) {
    const reason = filter(machine, request);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The best place: preferred GPU type first, then the machine with the fewest siblings, then the one with the most room. */
export function place(machines: readonly PlacementMachine[], request: PlacementRequest): Placement {
  const fitting = machines.filter((machine) => machineRefusal(machine, request) === undefined);
  const best = fitting
    .map((machine) => candidate(machine, request))
    .sort((a, b) => a.rank - b.rank || sizeRank(a.size, request) - sizeRank(b.size, request)
      || a.evicted.length - b.evicted.length || a.machine.siblings - b.machine.siblings || roomOf(b.machine) - roomOf(a.machine))[0];
  if (best) return { machineId: best.machine.id, gpuUuids: best.gpuUuids, instanceId: best.size?.instanceId ?? '', evicted: best.evicted };
  return refusalOfAll(machines.map((machine) => ({ name: machine.name, answer: machineRefusal(machine, request)! })), request);
}

/**
 * Place of a worker. An endpoint that names no type gets GPUs of any type; only while none of the machines where it may run has a GPU, those
 * that are away for a moment included and those that are gone left out, its workers run without one: hosts without GPUs serve endpoints that
 * were made for hosts with them.
 */
export function placeWorker(machines: readonly PlacementMachine[], request: PlacementRequest): Placement {
  const here = machines.filter((machine) => location(machine, request) === undefined && volume(machine, request) === undefined);
  const without = request.gpuIds.length === 0 && here.every((machine) => machine.gone || machine.gpus.length === 0);
  return place(machines, without ? { ...request, gpuCount: 0 } : request);
}

/** The machine after something was placed on it: what was given is not free for the next. */
export function occupied(machine: PlacementMachine, { gpuUuids, instanceId, evicted }: PlacementPlace): PlacementMachine {
  const size = cpuSize(instanceId);
  return {
    ...machine,
    gpus: machine.gpus.map((gpu) => (gpuUuids.includes(gpu.uuid) ? { ...gpu, used: true } : gpu)),
    cpuSlotsUsed: machine.cpuSlotsUsed + (gpuUuids.length === 0 ? 1 : 0),
    vcpusUsed: machine.vcpusUsed + (size?.vcpus ?? 0),
    memoryGbUsed: machine.memoryGbUsed + (size?.memoryGb ?? 0),
    siblings: machine.siblings + 1,
    standbys: machine.standbys.filter((standby) => !evicted.includes(standby.workerId)),
  };
}

interface Candidate {
  machine: PlacementMachine;
  rank: number;
  gpuUuids: string[];
  size: CpuSize | undefined;
  evicted: string[];
}

function candidate(machine: PlacementMachine, request: PlacementRequest): Candidate {
  const { rank, gpuUuids } = choice(machine, request) ?? { rank: 0, gpuUuids: [] };
  const size = sizeFor(machine, request);
  return { machine, rank, gpuUuids, size, evicted: standbysInTheWay(machine, gpuUuids, size) };
}

/** The most preferred size that the machine has room for. */
function sizeFor(machine: PlacementMachine, { instanceIds }: PlacementRequest): CpuSize | undefined {
  const [vcpus, memoryGb] = freeOf(machine);
  return instanceIds.map(cpuSize).find((size) => size !== undefined && size.vcpus <= vcpus && size.memoryGb <= memoryGb);
}

function sizeRank(size: CpuSize | undefined, { instanceIds }: PlacementRequest): number {
  return size === undefined ? 0 : instanceIds.indexOf(size.instanceId);
}

/** Free processors and GB. */
function freeOf({ vcpus, vcpusUsed, memoryGb, memoryGbUsed }: PlacementMachine): [vcpus: number, memoryGb: number] {
  return [vcpus === 0 ? Infinity : Math.max(0, vcpus - vcpusUsed), memoryGb === 0 ? Infinity : Math.max(0, memoryGb - memoryGbUsed)];
}

/** GPUs of one type for the worker, the most preferred type that is free often enough. */
function choice(machine: PlacementMachine, request: PlacementRequest): { rank: number; gpuUuids: string[] } | undefined {
  if (request.gpuCount === 0) return { rank: 0, gpuUuids: [] };
  const byType = new Map<string, { rank: number; gpuUuids: string[]; free: number }>();
  for (const gpu of machine.gpus) {
    const rank = rankOf(gpu, request);
    if (gpu.used || rank === undefined) continue;
    const type = `${sameCard(gpu.name)} ${gpu.migProfile}`;
    const group = byType.get(type) ?? { rank, gpuUuids: [], free: 0 };
    // Those that nobody has come first.
    if (gpu.standby) group.gpuUuids.push(gpu.uuid);
    else group.gpuUuids.splice(group.free++, 0, gpu.uuid);
    byType.set(type, group);
  }
  const groups = [...byType.values()].filter((group) => group.gpuUuids.length >= request.gpuCount).sort((a, b) => a.rank - b.rank);
  return groups[0] && { rank: groups[0].rank, gpuUuids: groups[0].gpuUuids.slice(0, request.gpuCount) };
}

/** Place of a GPU in the list of preferences, from 0; undefined when it is not asked for. A MIG slice is no card of its product's name. */
function rankOf(gpu: PlacementGpu, request: PlacementRequest): number | undefined {
  const { order, excluded } = gpuPreference(request.gpuIds);
  const type = sameCard(gpu.name);
  if (excluded.has(type)) return undefined;
  if (order.length === 0) return 0;
  const rank = gpu.migProfile === '' ? order.indexOf(type) : order.indexOf(`${type} MIG ${gpu.migProfile}`);
  return rank === -1 ? undefined : rank;
}

function roomOf(machine: PlacementMachine): number {
  return machine.gpus.filter((gpu) => !gpu.used).length + machine.cpuSlots - machine.cpuSlotsUsed;
}

function no(kind: RefusalKind, text: string): MachineRefusal {
  return { kind, text };
}

/** A driver runs programs of its own CUDA version and of older ones. */
function supports(driver: string, wanted: string): boolean {
  const [driverMajor, driverMinor] = driver.split('.').map(Number);
  const [major, minor] = wanted.split('.').map(Number);
  if (driverMajor === undefined || major === undefined || Number.isNaN(driverMajor)) return false;
  return driverMajor > major || (driverMajor === major && (driverMinor ?? 0) >= (minor ?? 0));
}
