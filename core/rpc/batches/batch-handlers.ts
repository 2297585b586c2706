/** BatchService: decode, call a use case, encode. */
import type { Batch, BatchRequest, BatchServiceServer } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import type { Access } from '../../access/access.ts';
import type { BatchContext, BatchOwner } from '../../batches/batches.ts';
import { cancelBatch, createBatch, getBatch, listBatches } from '../../batches/batches.ts';
import type { RequestView } from '../../batches/drafts.ts';
import { addRequests, createDraft, finalizeDraft, listRequests, removeRequest } from '../../batches/drafts.ts';
import type { BatchView } from '../../domain/batches/batch.ts';
import { FAULTS_MAX } from '../../domain/batches/batch.ts';
import type { ListParts } from '../server/paging.ts';
import { listing } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { batchCaller, endpointBatchCaller } from './batch-caller.ts';

/** Returns the handlers of the service. */
export function batchHandlers(access: Access, context: BatchContext, lists: ListParts): BatchServiceServer {
  const { logger } = lists;
  /** Authorizes a call for a batch of a file or of an endpoint. */
  const caller = async (apiKey: string, endpointId: string, write: boolean): Promise<BatchOwner> =>
    endpointId === ''
      ? batchCaller(access, apiKey, write)
      : (await endpointBatchCaller(access, apiKey, endpointId, write)).owner;
  return {
    createBatch: unary(logger, async (request, apiKey) => ({
      batch: toMessage(await createBatch(context, await batchCaller(access, apiKey, true), request)),
    })),
    getBatch: unary(logger, async (request, apiKey) => {
      const { scope } = await caller(apiKey, request.endpointId, false);
      return { batch: toMessage(await getBatch(context, scope, request)) };
    }),
    listBatches: listing(lists, async (request, apiKey, enter) => {
      const { scope } = await caller(apiKey, request.endpointId, false);
      await enter(scope.accountId);
      const { batches, more } = await listBatches(context, scope, request);
      return { batches: batches.map(toMessage), more };
    }),
    cancelBatch: unary(logger, async (request, apiKey) => ({
      batch: toMessage(await cancelBatch(context, await caller(apiKey, request.endpointId, true), request)),
    })),
    ...draftHandlers(access, context, lists),
  };
}

/** Returns the handlers of batches of one endpoint. */
function draftHandlers(
  access: Access,
  context: BatchContext,
  lists: ListParts,
): Pick<BatchServiceServer, 'createDraft' | 'addRequests' | 'removeRequest' | 'finalizeDraft' | 'listRequests'> {
  const { logger } = lists;
  return {
    createDraft: unary(logger, async ({ endpointId, inputs }, apiKey) => {
      const { owner, type } = await endpointBatchCaller(access, apiKey, endpointId, true);
      return { batch: toMessage(await createDraft(context, owner, { endpointId, type, inputs })) };
    }),
    addRequests: unary(logger, async (request, apiKey) => {
      const { owner } = await endpointBatchCaller(access, apiKey, request.endpointId, true);
      const { batch, requestIds } = await addRequests(context, owner, request, request);
      return { batch: toMessage(batch), requestIds };
    }),
    removeRequest: unary(logger, async (request, apiKey) => {
      const { owner } = await endpointBatchCaller(access, apiKey, request.endpointId, true);
      await removeRequest(context, owner, request, request.requestId);
      return {};
    }),
    finalizeDraft: unary(logger, async (request, apiKey) => {
      const { owner } = await endpointBatchCaller(access, apiKey, request.endpointId, true);
      return { batch: toMessage(await finalizeDraft(context, owner, request)) };
    }),
    listRequests: listing(lists, async (request, apiKey, enter) => {
      const { owner } = await endpointBatchCaller(access, apiKey, request.endpointId, false);
      await enter(owner.scope.accountId);
      const { requests, total } = await listRequests(context, owner, request, request);
      return { requests: requests.map(requestToMessage), total };
    }),
  };
}

function toMessage(batch: BatchView): Batch {
  const { id, state, route, model, endpointId, kind, fileId, outputFileId, errorFileId, metadata, stalled } = batch;
  const { total, completed, failed, submitted, oldestJob, createdAt, startedAt, cancellingAt, endedAt } = batch;
  const faults = [...batch.faults].sort((a, b) => (a.line ?? 0) - (b.line ?? 0)).slice(0, FAULTS_MAX);
  return {
    ...{ id, state: BatchState[state], route, model, endpointId, metadata, stalled, outputFileId, errorFileId },
    ...{ total, completed, failed, submitted },
    inputFileId: kind === 'OPENAI' ? fileId : '',
    faults: faults.map(({ line, ...fault }) => ({ ...fault, line: line ?? undefined })),
    oldestJobId: oldestJob?.jobId ?? '',
    oldestJobEndpointId: oldestJob?.endpointId ?? '',
    createTime: createdAt,
    startTime: startedAt ?? undefined,
    cancelTime: cancellingAt ?? undefined,
    endTime: endedAt ?? undefined,
    expireTime: batch.expiresAt,
  };
}

function requestToMessage({ id, state, result, startedAt, endedAt, jobId }: RequestView): BatchRequest {
  return { id, state, result, startTime: startedAt ?? undefined, endTime: endedAt ?? undefined, jobId };
}
