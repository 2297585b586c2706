/** Errors of the download of a model, with a fault that programs can read. */
import type { PrepareFailure } from '../images/prepare-error.ts';
import { PrepareError } from '../images/prepare-error.ts';

/** Why a model is not on the machine. */
export type ModelFailure = 'NOT_FOUND' | 'FORBIDDEN' | 'CORRUPT' | 'DISK_FULL' | 'UNREACHABLE';

const FAILURES: Record<ModelFailure, PrepareFailure> = {
  NOT_FOUND: 'NOT_FOUND',
  FORBIDDEN: 'NO_ACCESS',
  CORRUPT: 'UNREACHABLE',
  DISK_FULL: 'NO_SPACE',
  UNREACHABLE: 'UNREACHABLE',
};

/** A model cannot be brought to this machine now. The message is for the endpoint's owner and says what to do. */
export class ModelError extends PrepareError {
  readonly fault: ModelFailure;

  constructor(fault: ModelFailure, message: string) {
    super(FAILURES[fault], message);
    this.fault = fault;
  }
}

/** Error codes of a full disk. */
const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Returns whether a file could not be written because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return FULL.has((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}
