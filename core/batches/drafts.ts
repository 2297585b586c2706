/** Batches of one endpoint: requests are added to a draft, which then runs. */
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { BatchView } from '../domain/batches/batch.ts';
import { batchNotFound, DRAFT_CALL_BYTES_MAX, DRAFT_REQUESTS_MAX, tooManyRequests } from '../domain/batches/batch.ts';
import { FILE_PIECE_BYTES_MAX } from '../domain/batches/file.ts';
import { INPUT_DEPTH_MAX } from '../domain/jobs/job-limits.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { invalid } from '../domain/settings/fields.ts';
import { batchResultIdentity, filePieceIdentity } from '../domain/settings/sealed-identity.ts';
import type { ListedItem } from '../store/batches/draft-store.ts';
import type { FilePiece } from '../store/batches/file-rows.ts';
import type { BatchContext, BatchOwner } from './batches.ts';
import { getBatch } from './batches.ts';

const ID_LENGTH = 24;
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
/** Bytes of results after which a list of requests ends. */
const RESULT_BYTES = 4 * 1024 * 1024;

/** Names a batch of an endpoint. */
interface DraftKey {
  endpointId: string;
  batchId: string;
}

/** A request with its result. */
export interface RequestView extends ListedItem {
  /** JSON text. `undefined`: there is none yet. */
  result: Buffer | undefined;
}

/** Makes a draft, with these requests. Throws INVALID_INPUT, WRONG_ENDPOINT_TYPE, QUEUE_FULL. */
export async function createDraft(
  context: BatchContext,
  owner: BatchOwner,
  { endpointId, type, inputs }: { endpointId: string; type: string; inputs: readonly Buffer[] },
): Promise<BatchView> {
  if (type !== 'QB')
    throw new DomainError('WRONG_ENDPOINT_TYPE', 'This is a load-balancing endpoint: it has no queue, and no batches.');
  await checkInputs(context, owner, inputs);
  const { random, drafts, limits } = context;
  const ids = { id: `batch_${random.id(ID_LENGTH)}`, fileId: `file-${random.id(ID_LENGTH)}` };
  const { actor, endpointIds } = owner;
  const addition = inputs.length === 0 ? undefined : additionOf(context, inputs, false);
  return drafts.create(actor, { ...ids, endpointIds, endpointId }, addition, limits);
}

/** Adds requests to a draft, all or none. Throws NOT_FOUND, IN_USE, INVALID_INPUT, QUEUE_FULL. */
export async function addRequests(
  context: BatchContext,
  owner: BatchOwner,
  { endpointId, batchId }: DraftKey,
  { inputs, replace }: { inputs: readonly Buffer[]; replace: boolean },
): Promise<{ batch: BatchView; requestIds: string[] }> {
  await checkInputs(context, owner, inputs);
  const addition = additionOf(context, inputs, replace);
  const batch = await context.drafts.add({ scope: owner.scope, endpointId, batchId }, addition, context.limits);
  if (!batch) throw batchNotFound(batchId);
  return { batch, requestIds: addition.requests.map(({ id }) => id) };
}

/** Removes a request from a draft. Throws NOT_FOUND, IN_USE. */
export async function removeRequest(
  { drafts }: Pick<BatchContext, 'drafts'>,
  { scope }: BatchOwner,
  key: DraftKey,
  requestId: string,
): Promise<void> {
  if (!(await drafts.removeRequest({ scope, ...key }, requestId)))
    throw new DomainError('NOT_FOUND', `The batch has no request ${JSON.stringify(requestId.slice(0, 64))}.`);
}

/** Lets a draft run. Throws NOT_FOUND, INVALID_REQUEST, QUEUE_FULL. */
export async function finalizeDraft(
  { drafts, onChanged }: Pick<BatchContext, 'drafts' | 'onChanged'>,
  { actor, scope }: BatchOwner,
  { endpointId, batchId }: DraftKey,
): Promise<BatchView> {
  const batch = await drafts.finalize(actor, { scope, endpointId, batchId });
  if (!batch) throw batchNotFound(batchId);
  onChanged([batchId]);
  return batch;
}

/** Returns requests with their results, in order. Throws NOT_FOUND, INVALID_REQUEST. */
export async function listRequests(
  context: Pick<BatchContext, 'batches' | 'drafts' | 'sealer'>,
  { scope }: BatchOwner,
  { endpointId, batchId }: DraftKey,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ requests: RequestView[]; total: number }> {
  if (offset < 0) throw invalid('offset must not be negative');
  if (limit < 0 || limit > LIMIT_MAX) throw invalid(`limit is ${limit}, but must be from 1 to ${LIMIT_MAX}`);
  const { total } = await getBatch(context, scope, { id: batchId, endpointId });
  const listed = withinBytes(await context.drafts.requests(batchId, offset, limit || LIMIT_DEFAULT));
  const numbers = listed.filter(({ resultBytes }) => resultBytes > 0).map(({ number }) => number);
  const results = new Map<number, Buffer[]>();
  for (const { number, piece, sealed } of numbers.length === 0 ? [] : await context.drafts.results(batchId, numbers)) {
    const opened = context.sealer.open(sealed, batchResultIdentity(batchId, number, piece));
    results.set(number, [...(results.get(number) ?? []), opened]);
  }
  const requests = listed.map((item) => {
    const pieces = results.get(item.number);
    return { ...item, result: pieces && Buffer.concat(pieces) };
  });
  return { requests, total };
}

/** Returns the first requests whose results fit an answer; one result may be larger. */
function withinBytes(items: readonly ListedItem[]): ListedItem[] {
  let bytes = 0;
  const fits = items.findIndex(({ resultBytes }, index) => {
    bytes += resultBytes;
    return index > 0 && bytes > RESULT_BYTES;
  });
  return items.slice(0, fits < 0 ? items.length : fits);
}

/** Returns requests with these inputs, as the store adds them. */
function additionOf(context: BatchContext, inputs: readonly Buffer[], replace: boolean) {
  const requests = inputs.map((input) => ({ id: `breq_${context.random.id(ID_LENGTH)}`, bytes: input.length }));
  const all = Buffer.concat(inputs);
  const pieces = (fileId: string, start: number): FilePiece[] => piecesOf(context, all, fileId, start);
  return { requests, pieces, bytes: all.length, replace };
}

function piecesOf({ sealer }: BatchContext, all: Buffer, fileId: string, start: number): FilePiece[] {
  const pieces: FilePiece[] = [];
  for (let at = 0; at < all.length; at += FILE_PIECE_BYTES_MAX) {
    const piece = all.subarray(at, at + FILE_PIECE_BYTES_MAX);
    const offset = start + at;
    pieces.push({ start: offset, bytes: piece.length, sealed: sealer.seal(piece, filePieceIdentity(fileId, offset)) });
  }
  return pieces;
}

/** Throws INVALID_INPUT if an input is no object, or nested too deep, PAYLOAD_TOO_LARGE, INVALID_REQUEST. */
async function checkInputs({ checks }: BatchContext, { actor }: BatchOwner, inputs: readonly Buffer[]): Promise<void> {
  const bytes = inputs.reduce((sum, input) => sum + input.length, 0);
  if (bytes > DRAFT_CALL_BYTES_MAX)
    throw new DomainError('PAYLOAD_TOO_LARGE', `The inputs have ${bytes} bytes, but may have ${DRAFT_CALL_BYTES_MAX}.`);
  if (inputs.length > DRAFT_REQUESTS_MAX) throw tooManyRequests(inputs.length);
  await checks.run(actor.accountId, bytes, checkAll(inputs));
}

function* checkAll(inputs: readonly Buffer[]): Work<void> {
  for (const [index, input] of inputs.entries()) {
    const { fault, kind, depth } = yield* scanJson(input);
    yield;
    if (fault || kind !== 'object')
      throw new DomainError('INVALID_INPUT', `requests[${index}]: input must be a JSON object`);
    if (depth > INPUT_DEPTH_MAX)
      throw new DomainError(
        'INVALID_INPUT',
        `requests[${index}]: input is nested deeper than ${INPUT_DEPTH_MAX} levels`,
      );
  }
}
