/** Models on machines, as their agents report them, and why one could not be downloaded. Pure. */
import { referenceText } from './model-reference.ts';

/** Progress of a model on a machine. */
export type CachedModelState = 'DOWNLOADING' | 'READY' | 'FAILED';

/** Reasons why a model could not be downloaded. Empty: only the text has it. */
export type ModelFault = '' | 'NOT_FOUND' | 'FORBIDDEN' | 'CORRUPT' | 'DISK_FULL' | 'UNREACHABLE';

/** A model on a machine. For the meaning of each field see machine.proto. */
export interface CachedModel {
  repository: string;
  revision: string;
  commit: string;
  state: CachedModelState;
  sizeBytes: number;
  downloadedBytes: number;
  fault: ModelFault;
  error: string;
  accountNumber: number;
}

/** Models of a machine, and the space that they may take and take. */
export interface MachineModels {
  models: readonly CachedModel[];
  /** 0: the machine takes no models. */
  limitBytes: number;
  usedBytes: number;
  /** Empty: other machines cannot copy from it. */
  peerAddress: string;
}

/** Remedies, as clauses. */
const CHANGES: Record<ModelFault, string> = {
  '': 'see the reason; the next worker tries it again',
  NOT_FOUND:
    'correct the name or revision in its models; of a private repository, set HF_TOKEN in its variables, best as ' +
    '{{ RUNPOD_SECRET_name }}',
  FORBIDDEN:
    'accept the terms of the model at its hub, and set HF_TOKEN in its variables to a token that may read it, best ' +
    'as {{ RUNPOD_SECRET_name }}',
  CORRUPT: 'check the disk of that machine, and the mirror if there is one (SLIPWAY_MODEL_HUB)',
  DISK_FULL: 'let its operator give models more space (--model-disk), or let workers with other models end there',
  UNREACHABLE:
    'let its operator give the machine a way to the hub (SLIPWAY_MODEL_HUB), or import the model there ' +
    '(slipway models import)',
};

/** Returns what to do about a failed download, as a clause. */
export function modelFaultChange(fault: ModelFault): string {
  return CHANGES[fault];
}

/** Returns how far a download is, for people. */
export function downloadText({ repository, revision, sizeBytes, downloadedBytes }: CachedModel): string {
  const name = referenceText({ repository, revision });
  if (sizeBytes === 0) return `downloading model ${name}`;
  const percent = Math.min(Math.floor((downloadedBytes / sizeBytes) * 100), 99);
  return `downloading model ${name}: ${percent} % of ${gigabytes(sizeBytes)}`;
}

/** Returns a size in GB, for people: `15 GB`, `2.8 GB`, `less than 0.1 GB`. */
export function gigabytes(bytes: number): string {
  const gb = bytes / 1_000_000_000;
  if (bytes > 0 && gb < 0.05) return 'less than 0.1 GB';
  return `${gb >= 10 ? Math.round(gb) : Math.round(gb * 10) / 10} GB`;
}
