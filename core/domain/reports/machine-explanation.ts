/** Explains whether machines could take one more worker now, and if not, the reason and its remedy. Pure. */

import { crashText } from '../scaling/machine-crashes.ts';
import { onMachines } from '../scaling/placement.ts';
import { machineRefusal } from '../scaling/placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from '../scaling/placement-machine.ts';
import { whereImageIs } from '../scaling/placement-machine.ts';
import type { MachineRefusal, RefusalKind } from '../scaling/placement-refusal.ts';
import { refusalWords } from '../scaling/placement-refusal.ts';

/** One machine for the operator. For others, machines with the same reason are grouped. */
export interface MachineExplanation {
  /** Empty except for the operator. */
  name: string;
  count: number;
  fits: boolean;
  /** Kind of the first filter that refused. Empty if none did. */
  refusedBy: RefusalKind | '';
  reason: string;
  /** The remedy. Empty if nothing refuses. */
  change: string;
}

const FITS = { fits: true, refusedBy: '', reason: 'it could take one more now', change: '' } as const;
/** Maximum number of groups. */
const MACHINES_MAX = 100;

/** Explains machines for the caller. */
export function explainMachines(
  machines: readonly PlacementMachine[],
  asked: PlacementRequest,
  operator: boolean,
): MachineExplanation[] {
  const request = onMachines(machines, whereImageIs(machines, asked));
  if (operator) return machines.slice(0, MACHINES_MAX).map((machine) => explainOne(machine, request));
  const answers = machines.map((machine) => ({ refusal: machineRefusal(machine, request) }));
  const groups = Map.groupBy(answers, ({ refusal }) => refusal?.kind ?? '');
  return [...groups].map(([kind, { length: count }]) => {
    if (kind === '') return { name: '', count, ...FITS };
    return {
      name: '',
      count,
      fits: false,
      refusedBy: kind,
      reason: refusalWords(kind, count),
      change: change({ kind, text: '' }, request),
    };
  });
}

/** Explains one machine, for the operator. */
export function explainMachine(
  machine: PlacementMachine,
  machines: readonly PlacementMachine[],
  asked: PlacementRequest,
): MachineExplanation {
  return explainOne(machine, onMachines(machines, whereImageIs(machines, asked)));
}

function explainOne(machine: PlacementMachine, request: PlacementRequest): MachineExplanation {
  const who = { name: machine.name, count: 1 };
  const refusal = machineRefusal(machine, request);
  const last = machine.crashes?.comesLast
    ? `${FITS.reason}, after all others: ${crashText(machine.crashes)}`
    : FITS.reason;
  if (!refusal) return { ...who, ...FITS, reason: last };
  return {
    ...who,
    fits: false,
    refusedBy: refusal.kind,
    reason: refusal.text,
    change: change(refusal, request, machine),
  };
}

/** Returns a text for everyone, with the details of one machine if given. */
function change({ kind }: MachineRefusal, request: PlacementRequest, machine?: PlacementMachine): string {
  const { gpuCount, gpuIds } = request;
  const types = gpuIds.filter((id) => !id.startsWith('-'));
  const gpus =
    `${gpuCount} ` +
    `${gpuCount === 1 ? 'GPU' : 'GPUs of one type'}${types.length > 0 ? ` of ${types.join(' or ')}` : ''}`;
  const own = machine && [...new Set(machine.gpus.map(({ name }) => name))].join(' or ');
  const texts: Record<RefusalKind, string> = {
    CRASHES:
      'wait for the end of that pause; if its workers run elsewhere, check that machine, or let its ' +
      'operator cordon it',
    GPUS_TAKEN: `free ${gpus} there, or add a type that is free to gpuIds`,
    SLOTS_TAKEN: 'let a worker or pod without a GPU end there, or add a machine',
    SIZE_TAKEN: 'free processors and memory there, or ask for a smaller size (instanceIds)',
    GPUS_UNHEALTHY: 'repair or reset its GPUs, or restart the machine; its agent checks every minute',
    LEAVES: 'lower executionTimeout, or let the machine stay longer (--until)',
    CORDONED: 'let its operator uncordon it (slipway machines uncordon)',
    NO_IMAGE: 'push the image to a registry (slipway deploy FOLDER --push REPOSITORY), or build it there too (--on)',
    TOO_FEW_GPUS: 'ask for fewer GPUs (gpuCount), or add a machine with more of one type',
    OTHER_GPUS: `add ${own ?? 'one of their types'} to gpuIds, or add a machine with ${gpus}`,
    GPU_MEMORY: 'give its GPUs their whole memory, or name no type (gpuIds) and take any',
    NO_GPU: `add a machine with ${gpus}, or make the endpoint one without GPUs (computeType CPU)`,
    NO_GPU_HANDOVER: 'set up GPU access of its container engine (CDI)',
    NO_SLOTS: 'let it take workers without a GPU, or add a machine that does',
    TOO_SMALL: 'ask for a smaller size (instanceIds), or add a larger machine',
    SMALL_HOST: 'ask for a machine with fewer processors or less memory, or add a larger one',
    MODEL_DISK: 'let its operator give models more space (--model-disk), or name a smaller model',
    NO_MODELS:
      'let its operator give models space on its disk (--model-disk), or put the model into the image or a network ' +
      'volume',
    NO_ENGINE: 'install Docker or Podman there, or run a command instead of an image',
    NO_COMMANDS: 'run an image, or let its operator allow commands (--allow-commands)',
    CUDA: 'allow its CUDA version (allowedCudaVersions), or update its driver',
    VOLUME:
      'use a network volume in its data centre, or let its agent name where the volumes are (--location, ' +
      'SLIPWAY_AGENT_LOCATIONS)',
    LOCATION:
      'add its location to locations, or let its agent name one of those, or * for all hosted ones (--location, ' +
      'SLIPWAY_AGENT_LOCATIONS)',
    AWAY: 'start its agent again',
  };
  return texts[kind];
}
