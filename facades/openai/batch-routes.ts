/** Files and batches of an account at its OpenAI address (docs/reference/api.md#batches). */
import { Readable } from 'node:stream';
import type { Batch, BatchServiceClient } from '@slipway/proto/gen/slipway/v1/batch_service';
import type { File, FileServiceClient, ReadFileResponse } from '@slipway/proto/gen/slipway/v1/file_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceCalls } from '../core-client/service-calls.ts';
import type { JobParts } from '../jobs/job-parts.ts';
import { sendJson } from '../jobs/job-parts.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { modelGate } from '../plugins/authenticate.ts';
import { isPlainObject, parseSettings, rejectInvalidText } from '../plugins/bodies/json-body.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import { handleErrors, openaiErrorShape } from '../plugins/errors/error-handler.ts';
import type { HeldAnswer } from '../plugins/limits/answer-budget.ts';
import { isId } from '../plugins/public-id.ts';
import { presentBatch, presentFile, presentList } from './present-batches.ts';
import type { UploadParts } from './upload-body.ts';
import { uploadFile } from './upload-file.ts';

interface BatchRouteParts extends Pick<JobParts, 'answers' | 'bodies' | 'logger'> {
  gate: GateParts;
  files: ServiceCalls<FileServiceClient>;
  batches: ServiceCalls<BatchServiceClient>;
  uploads: UploadParts;
}

/** Largest body of a batch in bytes: sixteen entries of metadata. */
const BODY_BYTES_MAX = 64 * 1024;
/** Largest upload in bytes: core bounds the file in it. */
const UPLOAD_BYTES_MAX = 256 * 1024 * 1024;
const MEMBERS = ['input_file_id', 'endpoint', 'completion_window', 'metadata', 'output_expires_after'];

/** Adds the routes. */
export function batchRoutes(app: FastifyInstance, parts: BatchRouteParts): void {
  handleErrors(app, openaiErrorShape, parts.logger);
  const onRequest = modelGate(parts.gate, BODY_BYTES_MAX);
  app.register(async (scope) => uploadRoute(scope, parts));
  fileRoutes(app, parts, onRequest);
  const { batches } = parts;
  app.post('/openai/v1/batches', { onRequest }, async (request, reply) => {
    const made = await readBatch(parts, request);
    const { batch } = await batches.call((client) => client.createBatch, made, writing(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch!)));
  });
  app.get('/openai/v1/batches', { onRequest }, async (request, reply) => {
    const { after, limit } = pageOf(request, 100);
    const page = { endpointId: '', after, limit };
    const { batches: found, more } = await batches.call((client) => client.listBatches, page, reading(request));
    return sendJson(reply, JSON.stringify(presentList(found.map(presentBatch), more)));
  });
  app.get('/openai/v1/batches/:id', { onRequest }, async (request, reply) => {
    const key = { id: idOf(request), endpointId: '' };
    const { batch } = await batches.call((client) => client.getBatch, key, reading(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch as Batch)));
  });
  app.post('/openai/v1/batches/:id/cancel', { onRequest }, async (request, reply) => {
    if (request.body instanceof Error) throw request.body;
    const key = { id: idOf(request), endpointId: '' };
    const { batch } = await batches.call((client) => client.cancelBatch, key, reading(request));
    return sendJson(reply, JSON.stringify(presentBatch(batch as Batch)));
  });
}

/** Adds the upload route. Its handler reads the body while it arrives. */
function uploadRoute(app: FastifyInstance, { gate, files, uploads, logger }: BatchRouteParts): void {
  handleErrors(app, openaiErrorShape, logger);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  app.post('/openai/v1/files', { onRequest: modelGate(gate, UPLOAD_BYTES_MAX) }, async (request, reply) => {
    if (request.headers.expect !== undefined) reply.raw.writeContinue();
    return sendJson(reply, JSON.stringify(presentFile(await uploadFile(files, request, uploads))));
  });
}

function fileRoutes(
  app: FastifyInstance,
  { files, answers }: BatchRouteParts,
  onRequest: ReturnType<typeof modelGate>,
): void {
  app.get('/openai/v1/files', { onRequest }, async (request, reply) => {
    const order = queryText(request, 'order') ?? 'desc';
    const purpose = queryText(request, 'purpose') ?? '';
    if (order !== 'asc' && order !== 'desc') throw new CoreError('INVALID_REQUEST', 'order must be asc or desc.');
    // Clients ask for up to 10,000.
    const page = { ...pageOf(request, 10_000), ascending: order === 'asc', purpose };
    const asked = { ...page, limit: Math.min(page.limit, 1_000) };
    const { files: found, more } = await files.call((client) => client.listFiles, asked, reading(request));
    return sendJson(reply, JSON.stringify(presentList(found.map(presentFile), more)));
  });
  const get = async (request: FastifyRequest): Promise<File> =>
    (await files.call((client) => client.getFile, { id: idOf(request) }, reading(request))).file!;
  app.get('/openai/v1/files/:id', { onRequest }, async (request, reply) =>
    sendJson(reply, JSON.stringify(presentFile(await get(request)))),
  );
  app.get('/openai/v1/files/:id/content', { onRequest }, async (request, reply) => {
    const { id, bytes } = await get(request);
    const read = (cursor: string) => files.call((client) => client.readFile, { id, cursor }, reading(request));
    const first = await answers.hold(request, reply, {
      read: () => read(''),
      bytesOf: ({ content }) => content.length,
    });
    reply.headers({ 'content-type': 'application/octet-stream', 'content-length': bytes });
    return reply.send(Readable.from(contentOf(first, read), { objectMode: false, highWaterMark: 1 }));
  });
  app.delete('/openai/v1/files/:id', { onRequest }, async (request, reply) => {
    if (request.body instanceof Error) throw request.body;
    const id = idOf(request);
    await files.call((client) => client.deleteFile, { id }, writing(request));
    return sendJson(reply, JSON.stringify({ id, object: 'file', deleted: true }));
  });
}

/** Reads a file part by part, as fast as the client takes it. */
async function* contentOf(
  { answer: first, pause, prolong }: HeldAnswer<ReadFileResponse>,
  read: (cursor: string) => Promise<ReadFileResponse>,
): AsyncGenerator<Buffer> {
  for (let part = first; ; ) {
    if (part.content.length > 0) yield part.content;
    if (part.nextCursor === '') return;
    // A slow core must not count as an idle client, whose connection is closed.
    pause();
    part = await read(part.nextCursor);
    prolong();
  }
}

async function readBatch({ bodies }: BatchRouteParts, request: FastifyRequest) {
  const body = bodyBytes(request.body);
  const values = await bodies.run(request.caller.accountId, body.length, parseSettings(body));
  rejectInvalidText(values);
  const unknown = Object.keys(values).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw invalid(`${unknown.slice(0, 64)} is not a member of a batch`);
  const { metadata, output_expires_after: expiry } = values;
  if (metadata !== undefined && metadata !== null && !isTexts(metadata))
    throw invalid('metadata must be an object of texts, none of them named __proto__');
  if (expiry !== undefined && expiry !== null && !isExpiry(expiry))
    throw invalid('output_expires_after must be {"anchor": "created_at", "seconds": a whole number}');
  return {
    inputFileId: textOf(values, 'input_file_id'),
    route: textOf(values, 'endpoint'),
    completionWindow: textOf(values, 'completion_window'),
    metadata: (metadata ?? {}) as Record<string, string>,
    resultSeconds: isExpiry(expiry) ? expiry.seconds : 0,
  };
}

function textOf(values: Record<string, unknown>, name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw invalid(`${name} must be a text`);
  return value;
}

/** Returns whether the value is an object of texts. A member `__proto__` would be lost in a message. */
function isTexts(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    !Object.hasOwn(value, '__proto__') &&
    Object.values(value).every((each) => typeof each === 'string')
  );
}

function isExpiry(value: unknown): value is { seconds: number } {
  return isPlainObject(value) && value['anchor'] === 'created_at' && Number.isSafeInteger(value['seconds']);
}

function pageOf(request: FastifyRequest, limitMax: number): { after: string; limit: number } {
  const limit = queryText(request, 'limit');
  const most = limit === undefined ? 0 : Number(limit);
  if (limit !== undefined && (!/^\d+$/.test(limit) || most < 1 || most > limitMax))
    throw invalid(`limit must be from 1 to ${limitMax}`);
  return { after: queryText(request, 'after') ?? '', limit: most };
}

/** Returns a parameter of the query. Throws INVALID_REQUEST if it is given more than once. */
function queryText({ query }: FastifyRequest, name: string): string | undefined {
  const value = (query as Record<string, string | string[] | undefined>)[name];
  if (Array.isArray(value)) throw invalid(`${name} must be given once`);
  return value;
}

function invalid(text: string): CoreError {
  return new CoreError('INVALID_REQUEST', `${text}.`);
}

/** Throws NOT_FOUND for anything that cannot be an id, so that it never reaches core. */
function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (!isId(id)) throw new CoreError('NOT_FOUND', 'There is no such file or batch.');
  return id;
}

function reading({ caller: { apiKey } }: FastifyRequest) {
  return { apiKey, repeatable: true };
}

function writing({ caller: { apiKey } }: FastifyRequest) {
  return { apiKey, repeatable: false };
}
