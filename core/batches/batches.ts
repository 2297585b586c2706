/** Makes, reads, lists and cancels batches. */
import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Actor } from '../domain/accounts/permission.ts';
import type { BatchView } from '../domain/batches/batch.ts';
import { BATCHES_LISTED_MAX, batchNotFound, checkBatch } from '../domain/batches/batch.ts';
import type { FileScope } from '../domain/batches/file.ts';
import { fileNotFound, keptSeconds } from '../domain/batches/file.ts';
import { invalid } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import type { FileContext } from './files.ts';

const ID_LENGTH = 24;
const LIMIT_DEFAULT = 20;

/** Dependencies of the use cases of batches. */
export interface BatchContext extends FileContext, Pick<Stores, 'batches' | 'drafts'> {
  /** Work on texts of users, fair by account. */
  checks: SlicedWork;
  /** Called when batches were made or cancelled, here and on other replicas. */
  onChanged(batchIds: readonly string[]): void;
}

/** A caller, what it sees, and the endpoints of its key. */
export interface BatchOwner {
  actor: Actor;
  scope: FileScope;
  /** Empty: all of the account. */
  endpointIds: readonly string[];
}

/** Fields of a batch of a file. */
interface BatchFields {
  inputFileId: string;
  route: string;
  completionWindow: string;
  metadata: Record<string, string>;
  resultSeconds: number;
}

/** Names a batch. Empty endpoint: of a file. */
interface BatchKey {
  id: string;
  endpointId: string;
}

/**
 * Makes a batch of a file. Throws INVALID_REQUEST, NOT_FOUND, or QUEUE_FULL if the account has too many that have not
 * ended.
 */
export async function createBatch(
  { batches, random, onChanged }: BatchContext,
  { actor, scope, endpointIds }: BatchOwner,
  { inputFileId: fileId, route, completionWindow, metadata, resultSeconds }: BatchFields,
): Promise<BatchView> {
  checkBatch(route, completionWindow, metadata);
  const kept = keptSeconds('output_expires_after', resultSeconds);
  const id = `batch_${random.id(ID_LENGTH)}`;
  const made = await batches.create(actor, scope, { id, endpointIds, fileId, route, metadata, resultSeconds: kept });
  if (!made) throw fileNotFound(fileId);
  onChanged([id]);
  return made;
}

/** Returns a batch. Throws NOT_FOUND. */
export async function getBatch(
  { batches }: Pick<BatchContext, 'batches'>,
  scope: FileScope,
  { id, endpointId }: BatchKey,
): Promise<BatchView> {
  const found = await batches.get(scope, id, endpointId);
  if (!found) throw batchNotFound(id);
  return found;
}

/** Returns a page of batches, newest first. Throws INVALID_REQUEST. */
export async function listBatches(
  { batches }: Pick<BatchContext, 'batches'>,
  scope: FileScope,
  { endpointId, after, limit }: { endpointId: string; after: string; limit: number },
) {
  if (limit < 0 || limit > BATCHES_LISTED_MAX)
    throw invalid(`limit is ${limit}, but must be from 1 to ${BATCHES_LISTED_MAX}`);
  const page = await batches.list(scope, { endpointId, after, limit: limit || LIMIT_DEFAULT });
  if (!page) throw invalid(`after: there is no batch ${JSON.stringify(after.slice(0, 64))}`);
  return page;
}

/** Cancels a batch. Throws NOT_FOUND. */
export async function cancelBatch(
  { batches, onChanged }: Pick<BatchContext, 'batches' | 'onChanged'>,
  { actor, scope }: BatchOwner,
  { id, endpointId }: BatchKey,
): Promise<BatchView> {
  const cancelled = await batches.cancel(actor, scope, id, endpointId);
  if (!cancelled) throw batchNotFound(id);
  onChanged([id]);
  return cancelled;
}
