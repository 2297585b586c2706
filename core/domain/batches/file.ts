/** Files of an account: purposes, bounds and errors. */
import { DomainError } from '../settings/errors.ts';
import { characterCount, checkText, invalid } from '../settings/fields.ts';

const MIB = 1024 * 1024;
const DAY_SECONDS = 86_400;

/** A file, without its content. */
export interface AccountFile {
  id: string;
  purpose: string;
  filename: string;
  bytes: number;
  createdAt: Date;
  expiresAt: Date | null;
}

/** Files that a caller may see: of its account, or only of its key. */
export interface FileScope {
  accountId: string;
  /** Empty: all of the account. */
  onlyKeyId: string;
}

/** Limits of an account, which the operator sets. */
export interface FileLimits {
  files: number;
  /** Bytes of all files and results. */
  bytes: number;
}

/** Largest file in bytes. */
export const FILE_BYTES_MAX = 200 * MIB;
/** Largest piece of an upload in bytes. */
export const FILE_PIECE_BYTES_MAX = MIB;
/** Bytes after which one answer with a part of a file ends. */
export const FILE_READ_BYTES = MIB;
/** Bounds of the time for which a file is kept, in seconds. The longest is the default. */
export const FILE_SECONDS_MIN = 3_600;
export const FILE_SECONDS_MAX = 30 * DAY_SECONDS;
/** Seconds without a piece after which an upload is given up. */
export const UPLOAD_SECONDS_MAX = 3_600;
/** Most files in a list. */
export const FILES_LISTED_MAX = 1_000;
const FILENAME_LENGTH_MAX = 255;

/** Throws INVALID_REQUEST unless a file may be created with these fields. */
export function checkFile(purpose: string, filename: string): void {
  if (purpose !== 'batch')
    throw invalid(
      `purpose is ${JSON.stringify(purpose.slice(0, 64))}, but must be "batch": files are for the requests of ` +
        'batches here. Send images and audio in the request itself.',
    );
  const length = characterCount(filename);
  if (length === 0 || length > FILENAME_LENGTH_MAX)
    throw invalid(`filename has ${length} characters, but must have 1 to ${FILENAME_LENGTH_MAX}`);
  checkText('filename', filename);
}

/** Returns for how many seconds a file is kept. 0: the default. Throws INVALID_REQUEST if it is out of range. */
export function keptSeconds(field: string, seconds: number): number {
  if (seconds === 0) return FILE_SECONDS_MAX;
  if (Number.isInteger(seconds) && seconds >= FILE_SECONDS_MIN && seconds <= FILE_SECONDS_MAX) return seconds;
  throw invalid(`${field} is ${seconds}, but must be from ${FILE_SECONDS_MIN} to ${FILE_SECONDS_MAX} seconds`);
}

/** Returns the error for a file that the caller cannot see. */
export function fileNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no file ${JSON.stringify(id.slice(0, 64))}.`);
}

/** Returns the error for an account with too many files. */
export function tooManyFiles({ files }: FileLimits): DomainError {
  return new DomainError('QUEUE_FULL', `The account has ${files} files, which is the most. Delete some.`);
}

/** Returns the error for an account whose files are too large. */
export function tooManyBytes({ bytes }: FileLimits): DomainError {
  return new DomainError(
    'QUEUE_FULL',
    `The files and results of the account would take more than ${bytes} bytes, which is the most. Delete some.`,
  );
}
