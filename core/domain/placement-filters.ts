/** What keeps a worker or pod from a machine. Pure: small filters, each able to say why it refuses. */
import { cpuSize } from './cpu-size.ts';
import type { CpuSize } from './cpu-size.ts';
import { gpuMemoryGb } from './gpu-facts.ts';
import { gpuPreference, sameCard } from './gpu-pools.ts';
import { isAt } from './location.ts';
import { blamedLast, crashText, type CrashesHere } from './machine-crashes.ts';
import type { MachineRefusal, RefusalKind } from './placement-refusal.ts';
import type { PlacementStandby } from './standby-eviction.ts';

/** How a container engine hands GPUs over; VIRTUAL: there is nothing to hand over. */
export type GpuHandover = 'NONE' | 'CDI' | 'DEVICE_REQUEST' | 'VIRTUAL';

/** A GPU of a machine. */
export interface PlacementGpu {
  uuid: string;
  name: string;
  migProfile: string;
  /** A worker has it. */
  used: boolean;
  /** Only a frozen worker has it, which goes when it is given to another. */
  standby: boolean;
  /** Why nothing may run on it; empty: it is well. */
  unhealthy: string;
  /** Memory in GB of one that has much less than its type: it is none of that type. Absent: it has what it should. */
  shortGb?: number;
}

/** A machine as placement sees it. */
export interface PlacementMachine {
  id: string;
  name: string;
  /** Its agent has a session and extends its lease. */
  connected: boolean;
  /** Its agent was not heard for long (GONE_AFTER_MINUTES): it is taken for one that has left. */
  gone: boolean;
  /** Its operator wants nothing new there. */
  cordoned: boolean;
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
  /** Its frozen workers, and how many it keeps at most. Nothing else of the machine counts them. */
  standbys: readonly PlacementStandby[];
  standbyMax: number;
  /** Its operator allows commands of the host. */
  runsCommands: boolean;
  /** What runs images there; undefined: nothing does. */
  engine: { gpuHandover: GpuHandover } | undefined;
  /** Why nothing does, for people; empty with an engine. */
  noEngineReason: string;
  /** It has the image that is asked for. */
  hasImage: boolean;
  /** Its disk for images is nearly full. Absent: it has room, or that is not known. */
  lacksRoom?: true;
  /** Endpoints that workers here give way to, one for each worker. Absent: none. */
  gaveWayTo?: readonly string[];
  /** Workers of the same endpoint that crashed there. Absent: none. */
  crashes?: CrashesHere;
}

/** What the worker needs. */
export interface PlacementRequest {
  /** The image to run. Empty: a command of the host. */
  imageName: string;
  gpuIds: readonly string[];
  gpuCount: number;
  /** Sizes without a GPU, in order of preference. Empty: any. */
  instanceIds: readonly string[];
  locations: readonly string[];
  allowedCudaVersions: readonly string[];
  /** Data centres of its network volumes: it must run in one of them. Empty: it has no volume. */
  dataCenterIds: readonly string[];
}

/** Says why a machine cannot take the worker, or nothing. */
type Filter = (machine: PlacementMachine, request: PlacementRequest) => MachineRefusal | undefined;

const connected: Filter = (machine) => (machine.connected ? undefined : no('AWAY', 'its agent is not connected'));

const open: Filter = (machine) => (machine.cordoned ? no('CORDONED', 'its operator wants nothing new there (slipway machines uncordon)') : undefined);

/** It is in one of the places asked for. */
export const location: Filter = (machine, request) => {
  if (request.locations.length === 0 || request.locations.some((place) => isAt(machine.locations, place))) return undefined;
  return no('LOCATION', `it is in ${machine.locations.join(', ') || 'no location'}, not in ${request.locations.join(', ')}`);
};

/** It is where the network volumes are. */
export const volume: Filter = (machine, request) => {
  if (request.dataCenterIds.length === 0 || request.dataCenterIds.some((id) => machine.locations.includes(id))) return undefined;
  const where = machine.locations.join(', ') || 'no location (its agent names none: SLIPWAY_AGENT_LOCATIONS)';
  return no('VOLUME', `it is in ${where}, and the network volumes are in ${request.dataCenterIds.join(', ')}`);
};

/** What it runs is what is asked for: an image on a container engine, or a command of the host. */
export const program: Filter = (machine, { imageName }) => {
  if (imageName === '') {
    return machine.runsCommands ? undefined : no('NO_COMMANDS', 'its operator allows no commands (its agent runs without --allow-commands)');
  }
  if (machine.engine) return undefined;
  return no('NO_ENGINE', `it has no container engine${machine.noEngineReason === '' ? '' : ` (${machine.noEngineReason})`}`);
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
  const short = machine.gpus.find(({ shortGb, name, migProfile }) => shortGb !== undefined && rankOf({ name, migProfile }, request) !== undefined);
  if (short) return no('GPU_MEMORY', `its ${short.name} has ${short.shortGb} GB of memory, and the type has ${gpuMemoryGb(short.name)}`);
  const names = new Set(machine.gpus.map((gpu) => gpu.name));
  return names.size === 0 ? no('NO_GPU', 'it has no GPU') : no('OTHER_GPUS', `none of its GPUs (${[...names].join(', ')}) is asked for`);
};

const gpuCount: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, () => true)) return undefined;
  return no('TOO_FEW_GPUS', `${request.gpuCount} of one type are needed and it has fewer`);
};

const handover: Filter = (machine, request) => {
  if (request.gpuCount === 0 || request.imageName === '' || machine.engine?.gpuHandover !== 'NONE') return undefined;
  return no('NO_GPU_HANDOVER', 'its container engine cannot hand GPUs to containers');
};

const anySlot: Filter = (machine, request) => {
  if (request.gpuCount > 0 || machine.cpuSlots > 0) return undefined;
  return no('NO_SLOTS', 'it has no slots for workers without a GPU');
};

const size: Filter = (machine, request) => {
  if (request.instanceIds.length === 0 || sizeFor(emptied(machine), request)) return undefined;
  return no('TOO_SMALL', `${request.instanceIds.join(' or ')} is asked for and it has ${machine.vcpus} processors and ${machine.memoryGb} GB`);
};

/** Enough of its GPUs are well; one that is not comes back when its agent says so. */
const gpuHealth: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, ({ unhealthy }) => unhealthy === '')) return undefined;
  const ill = machine.gpus.filter((gpu) => gpu.unhealthy !== '' && rankOf(gpu, request) !== undefined);
  return no('GPUS_UNHEALTHY', `${ill.length} of its GPUs are not well: ${ill.map(({ uuid, unhealthy }) => `${uuid} (${unhealthy})`).join(', ')}`.slice(0, 500));
};

const gpuRoom: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, ({ used, unhealthy }) => !used && unhealthy === '')) return undefined;
  const free = machine.gpus.filter((gpu) => !gpu.used && gpu.unhealthy === '' && rankOf(gpu, request) !== undefined).length;
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

const calm: Filter = ({ crashes }) => (crashes === undefined || crashes.retryMs === 0 ? undefined
  : no('CRASHES', `${crashText(crashes)}; it is tried there again in ${Math.ceil(crashes.retryMs / 1_000)} s`));

/** What cannot pass by waiting, in the order in which a person would ask. */
const NEVER: readonly Filter[] = [location, volume, program, cuda, gpuType, gpuCount, handover, anySlot, size];
const FILTERS: readonly Filter[] = [connected, ...NEVER, open, gpuHealth, gpuRoom, cpuRoom, sizeRoom, calm];

/** Why a machine cannot take the worker, or undefined when it can. */
export function machineRefusal(machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  return firstRefusal(FILTERS, machine, request);
}

/** Why it could not even if it were connected and nothing ran on it, or undefined when it could. */
export function lastingRefusal(machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  return firstRefusal(NEVER, machine, request);
}

/** All that decides whether a machine could ever take something: two with the same text answer alike (`lastingRefusal`). */
export function lastingFacts(machine: PlacementMachine): string {
  const { locations, runsCommands, engine, cudaVersion, cpuSlots, vcpus, memoryGb, gpus } = machine;
  const types = gpus.map(({ name, migProfile, shortGb = '' }) => `${name} ${migProfile} ${shortGb}`).sort();
  return JSON.stringify([locations, runsCommands, engine, cudaVersion, cpuSlots > 0, vcpus, memoryGb, types]);
}

function firstRefusal(filters: readonly Filter[], machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  for (const filter of filters) {
    const reason = filter(machine, request);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The machine as it would be if nothing ran on it. */
function emptied(machine: PlacementMachine): PlacementMachine {
  return { ...machine, cpuSlotsUsed: 0, vcpusUsed: 0, memoryGbUsed: 0, standbys: [] };
}

/** Whether so many GPUs of one type are asked for and usable. All machines are asked this for each worker that is placed, so it copies nothing. */
function hasEnough(machine: PlacementMachine, request: PlacementRequest, usable: (gpu: PlacementGpu) => boolean): boolean {
  if (request.gpuCount === 1) return machine.gpus.some((gpu) => usable(gpu) && rankOf(gpu, request) !== undefined);
  const counts = new Map<string, number>();
  return machine.gpus.some((gpu) => {
    if (!usable(gpu) || rankOf(gpu, request) === undefined) return false;
    const type = typeOf(gpu);
    counts.set(type, (counts.get(type) ?? 0) + 1);
    return counts.get(type)! >= request.gpuCount;
  });
}

function typeOf({ name, migProfile }: PlacementGpu): string {
  return `${sameCard(name)} ${migProfile}`;
}

/** The most preferred size that the machine has room for. */
export function sizeFor(machine: PlacementMachine, { instanceIds }: PlacementRequest): CpuSize | undefined {
  const [vcpus, memoryGb] = freeOf(machine);
  return instanceIds.map(cpuSize).find((size) => size !== undefined && size.vcpus <= vcpus && size.memoryGb <= memoryGb);
}

/** Free processors and GB. */
const freeOf = ({ vcpus, vcpusUsed, memoryGb, memoryGbUsed }: PlacementMachine): [vcpus: number, memoryGb: number] => (
  [vcpus === 0 ? Infinity : Math.max(0, vcpus - vcpusUsed), memoryGb === 0 ? Infinity : Math.max(0, memoryGb - memoryGbUsed)]);

/** GPUs of one type of a machine, for a worker. */
export interface GpuChoice {
  /** Place of the type in the list of preferences, from 0. */
  rank: number;
  gpuUuids: string[];
  /** How many more of that type are left there. */
  spare: number;
}

/** The most preferred type that is free often enough; of several that are equal the one of which fewest frozen workers must go and least is left. */
export function choice(machine: PlacementMachine, request: PlacementRequest): GpuChoice | undefined {
  const { gpuCount } = request;
  if (gpuCount === 0) return { rank: 0, gpuUuids: [], spare: 0 };
  const byType = new Map<string, { rank: number; gpuUuids: string[]; free: number }>();
  for (const gpu of blamedLast(machine.gpus, machine.crashes)) {
    const rank = rankOf(gpu, request);
    if (gpu.used || gpu.unhealthy !== '' || rank === undefined) continue;
    const type = typeOf(gpu);
    const group = byType.get(type) ?? { rank, gpuUuids: [], free: 0 };
    // Those that nobody has come first.
    if (gpu.standby) group.gpuUuids.push(gpu.uuid);
    else group.gpuUuids.splice(group.free++, 0, gpu.uuid);
    byType.set(type, group);
  }
  const fitting = [...byType.values()].filter((group) => group.gpuUuids.length >= gpuCount);
  const best = fitting.sort((a, b) => a.rank - b.rank || Math.min(b.free, gpuCount) - Math.min(a.free, gpuCount) || a.gpuUuids.length - b.gpuUuids.length)[0];
  return best && { rank: best.rank, gpuUuids: best.gpuUuids.slice(0, gpuCount), spare: best.gpuUuids.length - gpuCount };
}

/** Places that were looked up, by the list of preferences, name and profile: a decision asks for those of all GPUs of all machines several times. */
const ranks = new WeakMap<readonly string[], Map<string, Map<string, number | undefined>>>();

/** Place of a GPU in the list of preferences, from 0; undefined when it is not asked for. A MIG slice is no card of its product's name. */
export function rankOf(gpu: Pick<PlacementGpu, 'name' | 'migProfile' | 'shortGb'>, { gpuIds }: Pick<PlacementRequest, 'gpuIds'>): number | undefined {
  if (gpu.shortGb !== undefined && gpuIds.some((id) => !id.startsWith('-'))) return undefined;
  let named = ranks.get(gpuIds);
  if (!named) ranks.set(gpuIds, named = new Map());
  let known = named.get(gpu.name);
  if (!known) named.set(gpu.name, known = new Map());
  // No text is put together for it: that and its hash would cost more than all else here.
  if (!known.has(gpu.migProfile)) known.set(gpu.migProfile, findRank(gpu.name, gpu.migProfile, gpuIds));
  return known.get(gpu.migProfile);
}

function findRank(name: string, migProfile: string, gpuIds: readonly string[]): number | undefined {
  const { order, excluded } = gpuPreference(gpuIds);
  const type = sameCard(name);
  if (excluded.has(type)) return undefined;
  if (order.length === 0) return 0;
  const rank = migProfile === '' ? order.indexOf(type) : order.indexOf(`${type} MIG ${migProfile}`);
  return rank === -1 ? undefined : rank;
}

const no = (kind: RefusalKind, text: string): MachineRefusal => ({ kind, text });

/** A driver runs programs of its own CUDA version and of older ones. */
function supports(driver: string, wanted: string): boolean {
  const [driverMajor, driverMinor] = driver.split('.').map(Number);
  const [major, minor] = wanted.split('.').map(Number);
  if (driverMajor === undefined || major === undefined || Number.isNaN(driverMajor)) return false;
  return driverMajor > major || (driverMajor === major && (driverMinor ?? 0) >= (minor ?? 0));
}
