/**
 * Reads the model that a request to the account's address names, and makes of it what its endpoint takes: a job for a
 * queue, the request itself for a worker of a load-balancing endpoint. Workers know a model by a name of their own.
 */
import { characterEnd } from '@slipway/kit/bytes/json-bytes';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { openaiJobInput } from '@slipway/kit/openai/job-input';
import { RUNSYNC_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import { scanObject } from '../plugins/bodies/json-body.ts';
import type { FormField } from './form-body.ts';
import { formFault, readForm } from './form-body.ts';
import { checkDepth, isForm, routeOf, TRUE } from './openai-request.ts';

/** A request of an OpenAI client that names a model. */
export interface ModelRequest {
  /** Path as workers see it, for instance /v1/chat/completions. */
  route: string;
  model: string;
  /** Whether the client wants the response as server-sent events. */
  streaming: boolean;
  /**
   * Returns the input of a job. `workerModel`: name of the model for the workers; empty: as the client named it. Throws
   * PAYLOAD_TOO_LARGE if it is larger than a queue takes.
   */
  jobInput(workerModel: string): Work<Buffer>;
  /** Returns the body for a worker of a load-balancing endpoint, in pieces. */
  forwarded(workerModel: string): Buffer[];
}

/** Longest name of a model in bytes: 191 characters of two escaped halves each, in quotes, are 2,294. */
const MODEL_BYTES_MAX = 4_096;
/** Bytes of a file that are encoded between two pauses. A multiple of 3, so that no padding stands in the middle. */
const BASE64_STEP_BYTES = 3 * 64 * 1024;
/** Bytes of a text that are written as JSON between two pauses. A control character takes six bytes there. */
const TEXT_STEP_BYTES = 64 * 1024;
/** End of a field's name by which clients mark lists. */
const LIST_MARK = /\[\]$/;
const QUOTE = Buffer.from('"');
const COMMA = Buffer.from(',');
const LIST_END = Buffer.from(']');
const OBJECT_END = Buffer.from('}');
const FILE_END = Buffer.from('"}');

/** Reads a request. `path` is the part after /openai. Throws CoreError. */
export function readModelRequest(path: string, contentType: string, body: Buffer): Work<ModelRequest> {
  return isForm(contentType) ? readFormRequest(path, contentType, body) : readJsonRequest(path, body);
}

function* readJsonRequest(path: string, body: Buffer): Work<ModelRequest> {
  const route = routeOf(path);
  const scan = yield* scanObject(body, ['model', 'stream']);
  checkDepth(scan.depth);
  const member = scan.member('model');
  const model: unknown =
    member === undefined || member.length > MODEL_BYTES_MAX ? undefined : JSON.parse(member.toString('utf8'));
  if (member === undefined || typeof model !== 'string' || model === '') throw modelMissing();
  const start = member.byteOffset - body.byteOffset;
  const forwarded = (workerModel: string): Buffer[] =>
    workerModel === ''
      ? [body]
      : [body.subarray(0, start), Buffer.from(JSON.stringify(workerModel)), body.subarray(start + member.length)];
  return {
    route,
    model,
    streaming: scan.member('stream')?.equals(TRUE) ?? false,
    // biome-ignore lint/correctness/useYield: small work, in the form of the larger one
    *jobInput(workerModel) {
      withinQueue(body);
      return withinQueue(openaiJobInput(route, forwarded(workerModel)));
    },
    forwarded,
  };
}

function* readFormRequest(path: string, contentType: string, body: Buffer): Work<ModelRequest> {
  const route = routeOf(path);
  const fields = readForm(contentType, body);
  const [field, ...others] = fields.filter(({ name, filename }) => name === 'model' && filename === undefined);
  if (!field || field.value.length === 0 || field.value.length > MODEL_BYTES_MAX) throw modelMissing();
  // Of several, workers may take another one than the one that selected the endpoint.
  if (others.length > 0) throw formFault('it has more than one field model');
  const start = field.value.byteOffset - body.byteOffset;
  return {
    route,
    model: field.value.toString('utf8'),
    streaming: fields.some(({ name, value }) => name === 'stream' && value.toString('latin1') === 'true'),
    jobInput: (workerModel) => formInput(route, fields, workerModel),
    forwarded: (workerModel) =>
      workerModel === ''
        ? [body]
        : [body.subarray(0, start), Buffer.from(workerModel), body.subarray(start + field.value.length)],
  };
}

/**
 * Makes the input of a job of a form: a text becomes a string, a file an object with its bytes as base64, and fields
 * that come several times, or are named with [], a list.
 */
function* formInput(route: string, fields: readonly FormField[], workerModel: string): Work<Buffer> {
  const members = new Map<string, FormField[]>();
  for (const field of fields) {
    const name = field.name.replace(LIST_MARK, '');
    members.set(name, [...(members.get(name) ?? []), field]);
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const piece of formPieces(members, workerModel)) {
    yield;
    bytes += piece.length;
    if (bytes > RUNSYNC_PAYLOAD_BYTES_MAX) throw tooLarge();
    pieces.push(piece);
  }
  return withinQueue(openaiJobInput(route, pieces));
}

/** Yields the JSON object of a form in pieces, each made in a short time. */
function* formPieces(members: ReadonlyMap<string, readonly FormField[]>, workerModel: string): Generator<Buffer> {
  let before = '{';
  for (const [name, values] of members) {
    const isList = values.length > 1 || LIST_MARK.test(values[0]!.name);
    yield Buffer.from(`${before}${JSON.stringify(name)}:${isList ? '[' : ''}`);
    before = ',';
    for (const [index, field] of values.entries()) {
      if (index > 0) yield COMMA;
      if (field.filename !== undefined) yield* filePieces(field, field.filename);
      else yield* textPieces(field.name === 'model' && workerModel !== '' ? Buffer.from(workerModel) : field.value);
    }
    if (isList) yield LIST_END;
  }
  yield OBJECT_END;
}

function* filePieces({ contentType, value }: FormField, filename: string): Generator<Buffer> {
  const about = JSON.stringify({ filename, content_type: contentType ?? 'application/octet-stream' });
  yield Buffer.from(`${about.slice(0, -1)},"data":"`);
  for (let at = 0; at < value.length; at += BASE64_STEP_BYTES)
    yield Buffer.from(value.toString('base64', at, at + BASE64_STEP_BYTES), 'latin1');
  yield FILE_END;
}

function* textPieces(value: Buffer): Generator<Buffer> {
  yield QUOTE;
  for (let at = 0; at < value.length; ) {
    const end = characterEnd(value, Math.min(at + TEXT_STEP_BYTES, value.length));
    yield Buffer.from(JSON.stringify(value.toString('utf8', at, end)).slice(1, -1));
    at = end;
  }
  yield QUOTE;
}

function withinQueue(input: Buffer): Buffer {
  if (input.length > RUNSYNC_PAYLOAD_BYTES_MAX) throw tooLarge();
  return input;
}

function tooLarge(): CoreError {
  return new CoreError(
    'PAYLOAD_TOO_LARGE',
    `As a job the request takes more than the ${RUNSYNC_PAYLOAD_BYTES_MAX} bytes that a queue takes; files count ` +
      'as base64 there. A load-balancing endpoint takes larger ones.',
  );
}

function modelMissing(): CoreError {
  return new CoreError(
    'INVALID_REQUEST',
    'model must be the name of a model, 1 to 191 characters. It selects the endpoint. ' +
      'GET /openai/v1/models lists the models.',
  );
}
