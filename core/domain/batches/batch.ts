/** Batches: states, bounds and errors. */
import { DomainError } from '../settings/errors.ts';
import { checkText, invalid } from '../settings/fields.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** States before the end, and at the end. */
export type BatchState =
  | 'DRAFT'
  | 'VALIDATING'
  | 'IN_PROGRESS'
  | 'EXPIRING'
  | 'CANCELLING'
  | 'COMPLETED'
  | 'FAILED'
  | 'EXPIRED'
  | 'CANCELLED';

/** States of a request. SUBMITTED: it is a job. */
export type ItemState = 'PENDING' | 'SUBMITTED' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'CANCELLED';

/** A fault of the requests, found before they run. */
export interface BatchFault {
  code: string;
  message: string;
  /** Line from 1. Null: the file as a whole. */
  line: number | null;
}

/** A batch. */
export interface Batch {
  id: string;
  accountId: string;
  keyId: string;
  /** Endpoints of the key that created it. Empty: all. */
  endpointIds: string[];
  kind: 'OPENAI' | 'ENDPOINT';
  route: string;
  model: string;
  endpointId: string;
  fileId: string;
  state: BatchState;
  metadata: Record<string, string>;
  faults: BatchFault[];
  stalled: string;
  readBytes: number;
  readLines: number;
  total: number;
  completed: number;
  failed: number;
  resultBytes: number;
  resultSeconds: number;
  windowMs: number;
  createdAt: Date;
  startedAt: Date | null;
  cancellingAt: Date | null;
  endedAt: Date | null;
  expiresAt: Date;
}

/** A batch with what its owner sees besides. */
export interface BatchView extends Batch {
  submitted: number;
  outputFileId: string;
  errorFileId: string;
  oldestJob: { endpointId: string; jobId: string } | undefined;
}

/** Paths that requests of a file may have. */
export const BATCH_ROUTES = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'];
/** Most requests of a file, and of a draft. */
export const FILE_REQUESTS_MAX = 50_000;
export const DRAFT_REQUESTS_MAX = 5_000;
/** Largest line of a file in bytes, and most bytes of the inputs of one call that adds to a draft. */
export const LINE_BYTES_MAX = 10 * MIB;
export const DRAFT_CALL_BYTES_MAX = 10 * MIB;
/** Most batches that have not ended, of an account and of an endpoint. */
export const ACCOUNT_BATCHES_MAX = 100;
export const ENDPOINT_BATCHES_MAX = 10;
/** Most requests of batches that wait at an endpoint. */
export const ENDPOINT_REQUESTS_MAX = 50_000;
/** Most faults that are reported. */
export const FAULTS_MAX = 100;
/** Completion window in milliseconds. A draft that is not finalized for so long is given up. */
export const WINDOW_MS = DAY_MS;
/** Milliseconds after its end for which a batch is known. Its results are kept no longer. */
export const BATCH_KEPT_MS = 30 * DAY_MS;
/** Longest name of a request in characters. */
export const CUSTOM_ID_LENGTH_MAX = 512;
/** Most batches in a list. */
export const BATCHES_LISTED_MAX = 100;
/** Size of a piece of a result in bytes. */
export const RESULT_PIECE_BYTES = 256 * 1024;

const METADATA_MAX = 16;
const METADATA_KEY_MAX = 64;
const METADATA_VALUE_MAX = 512;

/** Throws INVALID_REQUEST unless a batch may be created with these fields. */
export function checkBatch(route: string, completionWindow: string, metadata: Record<string, string>): void {
  if (!BATCH_ROUTES.includes(route))
    throw invalid(`endpoint is ${JSON.stringify(route.slice(0, 64))}, but must be one of ${BATCH_ROUTES.join(', ')}`);
  if (completionWindow !== '24h') throw invalid('completion_window must be "24h"');
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_MAX)
    throw invalid(`metadata has ${entries.length} entries, but may have ${METADATA_MAX}`);
  for (const [key, value] of entries) {
    if (key.length > METADATA_KEY_MAX || value.length > METADATA_VALUE_MAX)
      throw invalid(`metadata: keys may have ${METADATA_KEY_MAX} characters, values ${METADATA_VALUE_MAX}`);
    checkText('metadata', key + value);
  }
}

/** Returns the error for a batch that the caller cannot see. */
export function batchNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no batch ${JSON.stringify(id.slice(0, 64))}.`);
}

/** Returns the error for a change of a batch that takes none any more. */
export function noDraft(id: string): DomainError {
  return new DomainError('IN_USE', `The batch ${id} is no draft any more: make a new one.`);
}

/** Returns the error for a draft that can never take so many requests: a client must not try again. */
export function tooManyRequests(count: number): DomainError {
  return invalid(`a batch may have ${DRAFT_REQUESTS_MAX} requests, not ${count}`);
}

/** Returns the error for too many batches of an account or endpoint. */
export function tooManyBatches(whose: string, max: number): DomainError {
  return new DomainError(
    'QUEUE_FULL',
    `The ${whose} has ${max} batches that have not ended, which is the most. Wait for one to end, or cancel one.`,
  );
}
