/** Batches of an endpoint under /v2/{endpoint_id}/batch (docs/reference/api.md#batches-of-an-endpoint). */
import { kindAt, skipSpace } from '@slipway/kit/bytes/json-bytes';
import { itemEnds } from '@slipway/kit/bytes/json-items';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { Batch, BatchRequest, BatchServiceClient } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { DRAFT_REQUESTS_MAX, RUN_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceCalls } from '../core-client/service-calls.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { queueGate } from '../plugins/authenticate.ts';
import { scanObject } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import { handleErrors, queueErrorShape } from '../plugins/errors/error-handler.ts';
import { isId } from '../plugins/public-id.ts';
import type { JobParts } from './job-parts.ts';
import { endpointIdOf, sendJson } from './job-parts.ts';

interface BatchRouteParts extends Pick<JobParts, 'answers' | 'bodies' | 'logger'> {
  gate: GateParts;
  batches: ServiceCalls<BatchServiceClient>;
}

const LIST_MAX = 100;
const REQUESTS_MAX = 1_000;
const REQUESTS_DEFAULT = 100;
const CALL_MS = 30_000;
/** About the bytes of the record of a request without its result. */
const RECORD_BYTES = 128;

/** Adds the routes. */
export function endpointBatchRoutes(app: FastifyInstance, parts: BatchRouteParts): void {
  handleErrors(app, queueErrorShape, parts.logger);
  const { gate } = parts;
  const reads = { onRequest: queueGate(gate, { operation: 'status', write: false, bodyBytesMax: 0 }) };
  const writes = {
    onRequest: queueGate(gate, { operation: 'run', write: true, bodyBytesMax: RUN_PAYLOAD_BYTES_MAX }),
  };
  const { batches } = parts;
  const base = '/v2/:endpointId/batch';
  app.post(base, writes, async (request, reply) => {
    const draft = { endpointId: endpointIdOf(request), inputs: await inputsOf(parts, request, reply, false) };
    const { batch } = await batches.call((client) => client.createDraft, draft, once(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch!)));
  });
  app.get(base, reads, async (request, reply) => {
    const page = { endpointId: endpointIdOf(request), after: '', limit: LIST_MAX };
    const { batches: found } = await batches.call((client) => client.listBatches, page, again(request));
    return sendJson(reply, JSON.stringify({ batches: found.map(presentBatch) }));
  });
  app.get(`${base}/:batchId`, reads, async (request, reply) => {
    const { batch } = await batches.call((client) => client.getBatch, keyOf(request), again(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch!)));
  });
  app.post(`${base}/:batchId/cancel`, writes, async (request, reply) => {
    const { batch } = await batches.call((client) => client.cancelBatch, keyOf(request), again(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch!)));
  });
  requestRoutes(app, parts, { base, reads, writes });
}

type Gate = { onRequest: ReturnType<typeof queueGate> };

function requestRoutes(
  app: FastifyInstance,
  parts: BatchRouteParts,
  { base, reads, writes }: { base: string; reads: Gate; writes: Gate },
): void {
  const { answers, batches } = parts;
  const add = async (request: FastifyRequest, reply: FastifyReply, replace: boolean) => {
    const { id: batchId, endpointId } = keyOf(request);
    const added = { endpointId, batchId, replace, inputs: await inputsOf(parts, request, reply, true) };
    const { batch, requestIds } = await batches.call((client) => client.addRequests, added, once(request));
    return JSON.stringify({ ...presentBatch(batch!), requestIds });
  };
  app.post(`${base}/:batchId/requests`, writes, async (request, reply) =>
    sendJson(reply, await add(request, reply, false)),
  );
  app.put(`${base}/:batchId`, writes, async (request, reply) => sendJson(reply, await add(request, reply, true)));
  app.post(`${base}/:batchId/finalize`, writes, async (request, reply) => {
    const { id: batchId, endpointId } = keyOf(request);
    const { batch } = await batches.call((client) => client.finalizeDraft, { batchId, endpointId }, again(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch!)));
  });
  app.delete(`${base}/:batchId/requests/:requestId`, writes, async (request, reply) => {
    const { id: batchId, endpointId } = keyOf(request);
    const { requestId } = request.params as { requestId: string };
    if (!isId(requestId)) throw new CoreError('NOT_FOUND', 'There is no such request.');
    await batches.call((client) => client.removeRequest, { endpointId, batchId, requestId }, once(request));
    return sendJson(reply, JSON.stringify({ id: requestId, deleted: true }));
  });
  app.get(`${base}/:batchId/requests`, reads, async (request, reply) => {
    const { id: batchId, endpointId } = keyOf(request);
    const [offset, limit] = [numberOf(request, 'offset', 0), numberOf(request, 'limit', REQUESTS_DEFAULT)];
    if (limit < 1 || limit > REQUESTS_MAX) throw invalid(`limit must be from 1 to ${REQUESTS_MAX}`);
    const page = { endpointId, batchId, offset, limit };
    const { answer } = await answers.hold(request, reply, {
      read: () => batches.call((client) => client.listRequests, page, again(request)),
      bytesOf: (found) => found.requests.reduce((sum, { result }) => sum + RECORD_BYTES + (result?.length ?? 0), 0),
    });
    const { requests, total } = answer;
    const hasMore = offset + requests.length < total && requests.length > 0;
    const list = requests.map(presentRequest).join(',');
    return sendJson(
      reply,
      `{"requests":[${list}],"total":${total},"offset":${offset},"limit":${limit},"hasMore":${hasMore}}`,
    );
  });
}

/** Returns the inputs of the requests of a body: a list, or an object with `requests`. */
async function inputsOf(
  { bodies }: BatchRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  isNeeded: boolean,
): Promise<Buffer[]> {
  const body = bodyBytes(request.body);
  if (body.length === 0 && !isNeeded) return [];
  await bodies.turn('run', request, reply, body.length);
  return bodies.run(request.caller.accountId, body.length, readInputs(body, isNeeded));
}

function* readInputs(body: Buffer, isNeeded: boolean): Work<Buffer[]> {
  const outer = yield* scanJson(body, ['requests']);
  if (outer.fault) throw invalid('The body is not valid JSON');
  const whole = outer.kind === 'array' ? body : undefined;
  const list = outer.kind === 'object' ? outer.member('requests') : whole;
  if (list === undefined && outer.kind === 'object' && !isNeeded) return [];
  const start = list === undefined ? -1 : list.indexOf('[');
  if (list === undefined || start < 0 || list.subarray(0, start).toString().trim() !== '')
    throw invalid('The body must be a list of {"input": {…}}, or {"requests": [{"input": {…}}]}');
  const items = list.subarray(start);
  const inputs: Buffer[] = [];
  let from = 1;
  for (const end of itemEnds(items)) {
    yield;
    if (end === undefined) continue;
    const item = items.subarray(from, end);
    from = end + 1;
    if (item.toString('latin1', 0, 64).trim() === '' && item.length <= 64) continue;
    const isObject = kindAt(item, skipSpace(item, 0)) === 'object';
    const input = isObject ? (yield* scanObject(item, ['input'])).member('input') : undefined;
    if (input === undefined)
      throw new CoreError(
        'INVALID_INPUT',
        `requests[${inputs.length}] has no member "input", which must be an object.`,
      );
    // Core says the same, but must not be sent a million of them.
    if (inputs.length === DRAFT_REQUESTS_MAX)
      throw invalid(`A batch may have ${DRAFT_REQUESTS_MAX} requests, not more`);
    inputs.push(input);
  }
  return inputs;
}

/** Returns a batch of the public API. It has no separate state for "all requests ended". */
function presentBatch(batch: Batch) {
  const { id, endpointId, state, total, submitted, completed, failed, createTime, stalled } = batch;
  return {
    ...{ id, endpointId, status: statusOf(state) },
    ...{ requestTotal: total, requestInProgress: submitted, requestCompleted: completed, requestFailed: failed },
    createdAt: createTime?.getTime() ?? 0,
    ...(stalled !== '' && { stalled }),
  };
}

function statusOf(state: BatchState): string {
  if (state === BatchState.DRAFT) return 'DRAFT';
  if (state === BatchState.FAILED || state === BatchState.EXPIRED || state === BatchState.EXPIRING) return 'FAILED';
  return state === BatchState.CANCELLED || state === BatchState.CANCELLING ? 'CANCELLED' : 'FINALIZED';
}

const STATUS: Record<string, string> = { PENDING: 'IN_QUEUE', SUBMITTED: 'IN_PROGRESS', EXPIRED: 'TIMED_OUT' };

/** Splices the result, JSON with `status`, into the record. */
function presentRequest({ id, state, result, startTime, endTime }: BatchRequest): string {
  const head = JSON.stringify({ id, ...(result === undefined && { status: STATUS[state] ?? state }) });
  const times = JSON.stringify({ startedAt: startTime?.getTime() ?? null, completedAt: endTime?.getTime() ?? null });
  const middle = result === undefined ? '' : `,${result.toString('utf8').slice(1, -1)}`;
  return `${head.slice(0, -1)}${middle},${times.slice(1)}`;
}

function keyOf(request: FastifyRequest): { id: string; endpointId: string } {
  const { batchId: id } = request.params as { batchId: string };
  if (!isId(id)) throw new CoreError('NOT_FOUND', 'There is no such batch.');
  return { id, endpointId: endpointIdOf(request) };
}

function numberOf({ query }: FastifyRequest, name: string, fallback: number): number {
  const value = (query as Record<string, string | undefined>)[name];
  if (value === undefined) return fallback;
  if (!/^\d{1,9}$/.test(value)) throw invalid(`${name} must be a whole number`);
  return Number(value);
}

function invalid(text: string): CoreError {
  return new CoreError('INVALID_REQUEST', `${text}.`);
}

function once({ caller: { apiKey } }: FastifyRequest) {
  return { apiKey, repeatable: false, tryMs: CALL_MS };
}

function again({ caller: { apiKey } }: FastifyRequest) {
  return { apiKey, repeatable: true, tryMs: CALL_MS };
}
