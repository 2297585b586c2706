/** Why no machine takes a worker or pod, in two texts: for its owner, who is told no machine's name, and for the operator, who is told all. */

/** What keeps a machine from taking it. */
export type RefusalKind = 'AWAY' | 'LOCATION' | 'VOLUME' | 'CUDA' | 'NO_GPU' | 'OTHER_GPUS' | 'GPUS_TAKEN' | 'SLOTS_TAKEN' | 'SIZE_TAKEN';

/** One machine's answer. */
export interface MachineRefusal {
  kind: RefusalKind;
  /** With all particulars, for the operator. */
  text: string;
}

/** No machine takes it. */
export interface PlacementRefusal {
  /** For anybody: no machine's name, and nothing that tells one from another. */
  refusal: string;
  /** For the operator: what each machine said, by name. */
  refusalByMachine: string;
}

/** Jobs wait at an endpoint that may have no worker. */
export const NO_WORKERS_REFUSAL: PlacementRefusal = {
  refusal: 'jobs wait, but workersMax is 0: raise it, and they run', refusalByMachine: 'jobs wait, but workersMax is 0: raise it, and they run',
};

/** What was asked for, as far as the texts speak of it. */
export interface RefusedRequest {
  gpuIds: readonly string[];
  gpuCount: number;
  instanceIds: readonly string[];
}

const NO_MACHINE_TEXT = 'no machine has joined';
const BY_MACHINE_LENGTH_MAX = 2_000;
/** Types that are named before the rest is only counted. */
const TYPES_NAMED_MAX = 4;

/** Each with the verb for one machine and for several. */
const WORDS: Record<RefusalKind, readonly [one: string, several: string]> = {
  GPUS_TAKEN: ['has too few of them free', 'have too few of them free'],
  SLOTS_TAKEN: ['has no slot free', 'have no slot free'],
  SIZE_TAKEN: ['has too few processors or too little memory free', 'have too few processors or too little memory free'],
  OTHER_GPUS: ['has other GPUs', 'have other GPUs'],
  NO_GPU: ['has no GPU', 'have no GPU'],
  CUDA: ['has a driver without the CUDA version', 'have drivers without the CUDA version'],
  VOLUME: ['is not where the network volumes are', 'are not where the network volumes are'],
  LOCATION: ['is elsewhere', 'are elsewhere'],
  AWAY: ['is not connected', 'are not connected'],
};

/** The refusal of all machines; of none when nobody has joined. */
export function refusalOfAll(answers: readonly { name: string; answer: MachineRefusal }[], request: RefusedRequest): PlacementRefusal {
  if (answers.length === 0) return { refusal: NO_MACHINE_TEXT, refusalByMachine: NO_MACHINE_TEXT };
  const counted = Object.entries(WORDS).flatMap(([kind, [one, several]]) => {
    const count = answers.filter(({ answer }) => answer.kind === kind).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? `machine ${one}` : `machines ${several}`}`];
  });
  return {
    refusal: `no machine has ${wanted(request)}: ${counted.join('; ')}`,
    refusalByMachine: answers.map(({ name, answer }) => `${name}: ${answer.text}`).join('; ').slice(0, BY_MACHINE_LENGTH_MAX),
  };
}

function wanted({ gpuIds, gpuCount, instanceIds }: RefusedRequest): string {
  if (gpuCount === 0) return instanceIds.length > 0 ? `room for ${listed(instanceIds)}` : 'a free slot for it without a GPU';
  const gpus = gpuCount === 1 ? 'a free GPU' : `${gpuCount} free GPUs of one type`;
  const types = gpuIds.filter((id) => !id.startsWith('-'));
  const excluded = gpuIds.length > types.length ? ', of those that are not excluded' : '';
  return types.length === 0 ? `${gpus}${excluded}` : `${gpus} of ${listed(types)}${excluded}`;
}

function listed(names: readonly string[]): string {
  const more = names.length - TYPES_NAMED_MAX;
  return names.slice(0, TYPES_NAMED_MAX).join(' or ') + (more > 0 ? ` or ${more} more` : '');
}
