/**
 * Reasons why no machine takes a worker or pod, as two texts. The text for the owner names no machine; the text for the
 * operator names all.
 */

import { shortened } from '../settings/fields.ts';
import type { HostMinimum } from './placement-machine.ts';

/** Reasons why a machine cannot take a worker. */
export type RefusalKind =
  | 'AWAY'
  | 'LOCATION'
  | 'VOLUME'
  | 'NO_ENGINE'
  | 'NO_COMMANDS'
  | 'CUDA'
  | 'NO_GPU'
  | 'OTHER_GPUS'
  | 'GPU_MEMORY'
  | 'TOO_FEW_GPUS'
  | 'NO_GPU_HANDOVER'
  | 'NO_SLOTS'
  | 'TOO_SMALL'
  | 'SMALL_HOST'
  | 'NO_MODELS'
  | 'MODEL_DISK'
  | 'NO_IMAGE'
  | 'CORDONED'
  | 'LEAVES'
  | 'GPUS_UNHEALTHY'
  | 'GPUS_TAKEN'
  | 'SLOTS_TAKEN'
  | 'SIZE_TAKEN'
  | 'CRASHES';

/** The reason of one machine. */
export interface MachineRefusal {
  kind: RefusalKind;
  /** All details, for the operator. */
  text: string;
}

/** The same with the name of the machine. */
export interface MachineAnswer {
  name: string;
  answer: MachineRefusal;
}

/** No machine takes it. */
export interface PlacementRefusal {
  /** For everyone: no machine's name, and nothing that distinguishes machines. */
  refusal: string;
  /** For the operator: the reason of each machine, by name. */
  refusalByMachine: string;
}

/** Summary of the reasons of some machines, bounded in length. */
export interface RefusedMachines {
  counts: Partial<Record<RefusalKind, number>>;
  /** The reason of each machine, by name, for the operator. */
  byMachine: string;
}

/** The endpoint may not have workers. */
export const NO_WORKERS_TEXT = 'workersMax is 0: raise it to let workers start';
/** The same while jobs wait. */
export const NO_WORKERS_REFUSAL: PlacementRefusal = {
  refusal: `jobs wait, but ${NO_WORKERS_TEXT}`,
  refusalByMachine: `jobs wait, but ${NO_WORKERS_TEXT}`,
};

/** The request, as far as the texts describe it. */
interface RefusedRequest {
  gpuIds: readonly string[];
  gpuCount: number;
  instanceIds: readonly string[];
  imageName: string;
  locations: readonly string[];
  dataCenterIds: readonly string[];
  hostMinimum?: HostMinimum | undefined;
  modelReferences?: readonly string[];
}

const NO_MACHINE_TEXT = 'no machine has joined';
const ALL_GONE_TEXT = 'no machine is connected, and none was lately';
const BY_MACHINE_LENGTH_MAX = 2_000;
/** Number of types that are named before the rest is counted. */
const TYPES_NAMED_MAX = 4;

/** The verb phrase of each reason, singular and plural. */
const WORDS: Record<RefusalKind, readonly [one: string, several: string]> = {
  CRASHES: ['waits, as a worker of it crashed there', 'wait, as workers of it crashed there'],
  GPUS_TAKEN: ['has too few of them free', 'have too few of them free'],
  SLOTS_TAKEN: ['has no slot free', 'have no slot free'],
  SIZE_TAKEN: ['has too few processors or too little memory free', 'have too few processors or too little memory free'],
  GPUS_UNHEALTHY: ['has too few healthy ones', 'have too few healthy ones'],
  CORDONED: ['is cordoned', 'are cordoned'],
  LEAVES: ['leaves before a job would end', 'leave before a job would end'],
  NO_IMAGE: ['lacks its image, which no registry has', 'lack its image, which no registry has'],
  TOO_FEW_GPUS: ['has too few of them', 'have too few of them'],
  NO_SLOTS: ['has no slots for workers without a GPU', 'have no slots for workers without a GPU'],
  TOO_SMALL: ['is too small', 'are too small'],
  SMALL_HOST: ['is too small', 'are too small'],
  MODEL_DISK: ['has too little disk for its models', 'have too little disk for its models'],
  NO_MODELS: ['takes no models', 'take no models'],
  GPU_MEMORY: ['has them with less memory than their type has', 'have them with less memory than their type has'],
  OTHER_GPUS: ['has other GPUs', 'have other GPUs'],
  NO_GPU: ['has no GPU', 'have no GPU'],
  NO_GPU_HANDOVER: ['cannot hand GPUs to containers', 'cannot hand GPUs to containers'],
  NO_ENGINE: ['has no container engine', 'have no container engine'],
  NO_COMMANDS: ['allows no commands', 'allow no commands'],
  CUDA: ['has a driver without the CUDA version', 'have drivers without the CUDA version'],
  VOLUME: [
    'is not where the network volumes are (SLIPWAY_AGENT_LOCATIONS)',
    'are not where the network volumes are (SLIPWAY_AGENT_LOCATIONS)',
  ],
  LOCATION: ['is elsewhere (SLIPWAY_AGENT_LOCATIONS)', 'are elsewhere (SLIPWAY_AGENT_LOCATIONS)'],
  AWAY: ['is not connected', 'are not connected'],
};

/** Kinds from the nearest to taking it to the farthest from it. */
export const NEAREST_FIRST = Object.keys(WORDS) as RefusalKind[];

/** Returns the verb phrase for a number of machines, for everyone. */
export function refusalWords(kind: RefusalKind, count: number): string {
  return WORDS[kind][count === 1 ? 0 : 1];
}

/** Adds reasons to a summary. */
export function summed(
  answers: readonly MachineAnswer[],
  before: RefusedMachines = { counts: {}, byMachine: '' },
): RefusedMachines {
  const counts = { ...before.counts };
  for (const { answer } of answers) counts[answer.kind] = (counts[answer.kind] ?? 0) + 1;
  const texts = [
    ...(before.byMachine === '' ? [] : [before.byMachine]),
    ...answers.map(({ name, answer }) => `${name}: ${answer.text}`),
  ];
  return { counts, byMachine: shortened(texts.join('; '), BY_MACHINE_LENGTH_MAX) };
}

/**
 * Returns the refusal of all machines, or that no machine has joined. `kept`: number of GPUs of one machine that are
 * reserved for the request.
 */
export function refusalOfAll(refused: RefusedMachines, request: RefusedRequest, kept = 0): PlacementRefusal {
  if (Object.keys(refused.counts).length === 0) return { refusal: NO_MACHINE_TEXT, refusalByMachine: NO_MACHINE_TEXT };
  const { refusal, refusalByMachine } = refusalOf(`no machine has ${wanted(request)}`, refused);
  const are = kept === 1 ? 'is' : 'are';
  const more =
    kept === 0
      ? ''
      : `; ${kept} of the ${request.gpuCount} ${are} free on one machine and reserved for it, 10 minutes of each 30`;
  return { refusal: refusal + more, refusalByMachine };
}

/**
 * Returns the refusal if waiting cannot help, or that no machine is connected. `joined`: a machine joined once and is
 * gone.
 */
export function refusalForGood(
  answers: readonly MachineAnswer[],
  request: RefusedRequest,
  joined: boolean,
): PlacementRefusal {
  const none = joined ? ALL_GONE_TEXT : NO_MACHINE_TEXT;
  if (answers.length === 0) return { refusal: none, refusalByMachine: none };
  return refusalOf(`no machine can run it, as it needs ${needed(request)}`, summed(answers));
}

function refusalOf(what: string, { counts, byMachine }: RefusedMachines): PlacementRefusal {
  const counted = Object.entries(WORDS).flatMap(([kind, [one, several]]) => {
    const count = counts[kind as RefusalKind] ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? `machine ${one}` : `machines ${several}`}`];
  });
  return { refusal: `${what}: ${counted.join('; ')}`, refusalByMachine: byMachine };
}

function needed(request: RefusedRequest): string {
  const { imageName, gpuIds, gpuCount, instanceIds, modelReferences = [] } = request;
  const runs = imageName === '' ? 'a machine that allows commands' : 'a container engine for its image';
  const parts = [
    ...(gpuCount > 0 ? [gpusText(gpuIds, gpuCount, '')] : []),
    ...(instanceIds.length > 0 ? [`room for ${listed(instanceIds)}`] : []),
    ...(modelReferences.length > 0 ? ['space for its models'] : []),
  ];
  return [runs, ...parts].join(' and ') + where(request);
}

function wanted(request: RefusedRequest): string {
  const { gpuIds, gpuCount, instanceIds } = request;
  if (gpuCount > 0) return gpusText(gpuIds, gpuCount, 'free ') + where(request);
  return (
    (instanceIds.length > 0 ? `room for ${listed(instanceIds)}` : 'a free slot for it without a GPU') + where(request)
  );
}

/** Returns the requested location, for readers of "is elsewhere". */
function where({ locations, dataCenterIds, hostMinimum }: RefusedRequest): string {
  const host = hostMinimum === undefined ? '' : ` on a machine with ${hostText(hostMinimum)}`;
  const chosen = host + (locations.length === 0 ? '' : ` in ${listed(locations)}`);
  return dataCenterIds.length === 0 ? chosen : `${chosen} where its network volumes are (${listed(dataCenterIds)})`;
}

function gpusText(gpuIds: readonly string[], gpuCount: number, free: string): string {
  const gpus = gpuCount === 1 ? `a ${free}GPU` : `${gpuCount} ${free}GPUs of one type`;
  const types = gpuIds.filter((id) => !id.startsWith('-'));
  const excluded = gpuIds.length > types.length ? ', without the excluded types' : '';
  return types.length === 0 ? `${gpus}${excluded}` : `${gpus} of ${listed(types)}${excluded}`;
}

function listed(names: readonly string[]): string {
  const more = names.length - TYPES_NAMED_MAX;
  return names.slice(0, TYPES_NAMED_MAX).join(' or ') + (more > 0 ? ` or ${more} more` : '');
}

/** Returns the least size of a machine in words. */
export function hostText({ vcpus, memoryGb }: HostMinimum): string {
  const parts = [
    ...(vcpus > 0 ? [vcpus === 1 ? '1 processor' : `${vcpus} processors`] : []),
    ...(memoryGb > 0 ? [`${memoryGb} GB of memory`] : []),
  ];
  return `at least ${parts.join(' and ')}`;
}
