/** Reasons why a machine cannot take a worker or pod. Pure: small filters, each with its reason. */

import { gigabytes } from '../machines/cached-model.ts';
import { LEAVE_MARGIN_MS } from '../machines/ephemeral.ts';
import { gpuMemoryGb } from '../machines/gpu-facts.ts';
import { isAt } from '../machines/location.ts';
import { shortened } from '../settings/fields.ts';
import { freeCapacityOf, hasEnough, rankOf, sizeFor } from './gpu-choice.ts';
import { crashText } from './machine-crashes.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';
import type { MachineRefusal, RefusalKind } from './placement-refusal.ts';
import { hostText } from './placement-refusal.ts';

/** Longest list of the programs that hold GPUs, in characters. */
const OCCUPANTS_LENGTH_MAX = 300;

/** Returns why a machine cannot take the worker, `undefined` if it can. */
type Filter = (machine: PlacementMachine, request: PlacementRequest) => MachineRefusal | undefined;

const connected: Filter = (machine) => (machine.connected ? undefined : no('AWAY', 'its agent is not connected'));

const notCordoned: Filter = (machine) => (machine.cordoned ? no('CORDONED', 'its operator cordoned it') : undefined);

/** Checks that a job that starts now ends before the machine leaves. */
const stays: Filter = ({ leavesInMs }, { executionTimeoutMs }) => {
  if (leavesInMs === undefined || executionTimeoutMs === undefined) return undefined;
  if (leavesInMs - LEAVE_MARGIN_MS >= executionTimeoutMs) return undefined;
  const runs = `a job may run for ${Math.ceil(executionTimeoutMs / 1_000)} s (executionTimeout)`;
  if (leavesInMs <= 0) return no('LEAVES', 'its time is over (--until)');
  return no('LEAVES', `it leaves in ${Math.floor(leavesInMs / 1_000)} s (--until), and ${runs}`);
};

/** Checks that the machine is in a requested location. */
export const location: Filter = (machine, request) => {
  if (request.locations.length === 0 || request.locations.some((place) => isAt(machine.locations, place)))
    return undefined;
  return no(
    'LOCATION',
    `it is in ${machine.locations.join(', ') || 'no location'}, not in ${request.locations.join(', ')}`,
  );
};

/** Checks that the machine is where the network volumes are. */
export const volume: Filter = (machine, request) => {
  if (request.dataCenterIds.length === 0 || request.dataCenterIds.some((id) => machine.locations.includes(id)))
    return undefined;
  const where = machine.locations.join(', ') || 'no location (its agent names none: SLIPWAY_AGENT_LOCATIONS)';
  return no('VOLUME', `it is in ${where}, and the network volumes are in ${request.dataCenterIds.join(', ')}`);
};

/**
 * Checks that the machine can run the program: an image needs a container engine, a host command its operator's
 * permission.
 */
export const program: Filter = (machine, { imageName }) => {
  if (imageName === '') {
    return machine.runsCommands
      ? undefined
      : no('NO_COMMANDS', 'its operator allows no commands (its agent runs without --allow-commands)');
  }
  if (machine.engine) return undefined;
  return no(
    'NO_ENGINE',
    `it has no container engine${machine.noEngineReason === '' ? '' : ` (${machine.noEngineReason})`}`,
  );
};

const cuda: Filter = (machine, request) => {
  if (
    request.allowedCudaVersions.length === 0 ||
    request.allowedCudaVersions.some((version) => supports(machine.cudaVersion, version))
  ) {
    return undefined;
  }
  return no(
    'CUDA',
    `its driver supports CUDA ${machine.cudaVersion || 'nothing'}, not ${request.allowedCudaVersions.join(' or ')}`,
  );
};

const gpuType: Filter = (machine, request) => {
  if (request.gpuCount === 0) return undefined;
  if (machine.gpus.some((gpu) => rankOf(gpu, request) !== undefined)) return undefined;
  const short = machine.gpus.find(
    ({ shortGb, name, migProfile }) => shortGb !== undefined && rankOf({ name, migProfile }, request) !== undefined,
  );
  if (short)
    return no(
      'GPU_MEMORY',
      `its ${short.name} has ${short.shortGb} GB of memory, and the type has ${gpuMemoryGb(short.name)}`,
    );
  const names = new Set(machine.gpus.map((gpu) => gpu.name));
  return names.size === 0
    ? no('NO_GPU', 'it has no GPU')
    : no('OTHER_GPUS', `none of its GPUs (${[...names].join(', ')}) is asked for`);
};

const gpuCount: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, () => true)) return undefined;
  return no('TOO_FEW_GPUS', `${neededText(request)}, and it has fewer`);
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
  return no(
    'TOO_SMALL',
    `${request.instanceIds.join(' or ')} is asked for and it has ${machine.vcpus} processors and ` +
      `${machine.memoryGb} GB`,
  );
};

/** Checks that the whole machine is large enough. Facts that it does not report are never too small. */
const hostSize: Filter = ({ vcpus, memoryGb }, { hostMinimum }) => {
  if (hostMinimum === undefined) return undefined;
  const isShort = (has: number, least: number): boolean => has > 0 && has < least;
  if (!isShort(vcpus, hostMinimum.vcpus) && !isShort(memoryGb, hostMinimum.memoryGb)) return undefined;
  return no('SMALL_HOST', `${hostText(hostMinimum)} is asked for and it has ${vcpus} processors and ${memoryGb} GB`);
};

/** Checks that the machine takes models, and that the requested ones fit, as far as their size is known. */
const models: Filter = ({ modelLimitBytes = 0 }, { modelReferences = [], modelBytes = 0 }) => {
  if (modelReferences.length === 0) return undefined;
  if (modelLimitBytes === 0)
    return no('NO_MODELS', 'it takes no models (its agent runs without --model-disk, or its release is older)');
  if (modelBytes <= modelLimitBytes) return undefined;
  return no(
    'MODEL_DISK',
    `its models may take ${gigabytes(modelLimitBytes)} (--model-disk) and ${gigabytes(modelBytes)} are needed`,
  );
};

/** Checks that enough GPUs are healthy. An unhealthy GPU returns when its agent reports it as healthy. */
const gpuHealth: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, ({ unhealthy }) => unhealthy === '')) return undefined;
  const ill = machine.gpus.filter((gpu) => gpu.unhealthy !== '' && rankOf(gpu, request) !== undefined);
  const listed = ill.map(({ uuid, unhealthy }) => `${uuid} (${unhealthy})`).join(', ');
  return no('GPUS_UNHEALTHY', `${ill.length} of its GPUs are unhealthy: ${listed}`.slice(0, 500));
};

/**
 * Checks that the machine has an image that no registry has. A Kubernetes node reports only its largest images, so it
 * may have any.
 */
const image: Filter = ({ hasImage, engine }, { imageName, imageOnMachines }) => {
  if (imageOnMachines === undefined || hasImage || engine?.name === 'kubernetes') return undefined;
  return no('NO_IMAGE', `it lacks the image ${imageName}, which no registry has`);
};

function is(count: number): string {
  return count === 1 ? 'is' : 'are';
}

function neededText({ gpuCount }: PlacementRequest): string {
  return gpuCount === 1 ? '1 GPU is needed' : `${gpuCount} GPUs of one type are needed`;
}

const freeGpus: Filter = (machine, request) => {
  if (request.gpuCount === 0 || hasEnough(machine, request, ({ used, unhealthy }) => !used && unhealthy === ''))
    return undefined;
  const free = machine.gpus.filter(
    (gpu) => !gpu.used && gpu.unhealthy === '' && rankOf(gpu, request) !== undefined,
  ).length;
  return no(
    'GPUS_TAKEN',
    `${neededText(request)}, and ${free} of the GPUs asked for ${is(free)} free${occupants(machine)}`,
  );
};

/** Returns the programs outside Slipway that hold its GPUs, as the rest of a sentence. */
function occupants({ gpus }: PlacementMachine): string {
  const named = gpus.flatMap(({ occupiedBy }) => (occupiedBy === undefined ? [] : [occupiedBy]));
  if (named.length === 0) return '';
  const text = [...new Set(named)].join(', ');
  const more = text.length <= OCCUPANTS_LENGTH_MAX ? '' : ' …';
  const by = shortened(text, OCCUPANTS_LENGTH_MAX);
  return `; ${named.length} ${is(named.length)} held outside Slipway, by ${by}${more}`;
}

const freeCpuSlots: Filter = (machine, request) => {
  if (request.gpuCount > 0 || machine.cpuSlotsUsed < machine.cpuSlots) return undefined;
  return no('SLOTS_TAKEN', `all of its ${machine.cpuSlots} slots for workers without a GPU are taken`);
};

const freeSize: Filter = (machine, request) => {
  if (request.instanceIds.length === 0 || sizeFor(machine, request)) return undefined;
  const [vcpus, memoryGb] = freeCapacityOf(machine);
  const free = [
    ...(vcpus === Infinity ? [] : [`${vcpus} of ${machine.vcpus} processors`]),
    ...(memoryGb === Infinity ? [] : [`${memoryGb} of ${machine.memoryGb} GB`]),
  ];
  return no('SIZE_TAKEN', `${request.instanceIds.join(' or ')} is asked for and ${free.join(' and ')} are free`);
};

const noRecentCrash: Filter = ({ crashes }) =>
  crashes === undefined || crashes.retryMs === 0
    ? undefined
    : no('CRASHES', `${crashText(crashes)}; it is tried there again in ${Math.ceil(crashes.retryMs / 1_000)} s`);

/** Reasons that do not pass by waiting, in the order in which a person would ask. */
const NEVER: readonly Filter[] = [
  location,
  volume,
  program,
  cuda,
  gpuType,
  gpuCount,
  handover,
  anySlot,
  size,
  hostSize,
  models,
];
const FILTERS: readonly Filter[] = [
  connected,
  ...NEVER,
  image,
  notCordoned,
  stays,
  gpuHealth,
  freeGpus,
  freeCpuSlots,
  freeSize,
  noRecentCrash,
];

/** Returns why a machine cannot take the worker now, `undefined` if it can. */
export function machineRefusal(machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  return firstRefusal(FILTERS, machine, request);
}

/** Returns why a machine could not take the worker even if it were connected and empty, `undefined` if it could. */
export function lastingRefusal(machine: PlacementMachine, request: PlacementRequest): MachineRefusal | undefined {
  return firstRefusal(NEVER, machine, request);
}

/** Returns everything that `lastingRefusal` depends on, as text. Machines with the same text have the same result. */
export function lastingFacts(machine: PlacementMachine): string {
  const { locations, runsCommands, engine, cudaVersion, cpuSlots, vcpus, memoryGb, gpus, modelLimitBytes } = machine;
  const types = gpus.map(({ name, migProfile, shortGb = '' }) => `${name} ${migProfile} ${shortGb}`).sort();
  const rest = [cudaVersion, cpuSlots > 0, vcpus, memoryGb, types, modelLimitBytes];
  return JSON.stringify([locations, runsCommands, engine, ...rest]);
}

function firstRefusal(
  filters: readonly Filter[],
  machine: PlacementMachine,
  request: PlacementRequest,
): MachineRefusal | undefined {
  for (const filter of filters) {
    const reason = filter(machine, request);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Returns the machine as if nothing ran on it. */
function emptied(machine: PlacementMachine): PlacementMachine {
  return { ...machine, cpuSlotsUsed: 0, vcpusUsed: 0, memoryGbUsed: 0, standbys: [] };
}

const no = (kind: RefusalKind, text: string): MachineRefusal => ({ kind, text });

/** Returns whether a driver runs a CUDA version: its own and older ones. */
function supports(driver: string, wanted: string): boolean {
  const [driverMajor, driverMinor] = driver.split('.').map(Number);
  const [major, minor] = wanted.split('.').map(Number);
  if (driverMajor === undefined || major === undefined || Number.isNaN(driverMajor)) return false;
  return driverMajor > major || (driverMajor === major && (driverMinor ?? 0) >= (minor ?? 0));
}
