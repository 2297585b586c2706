/** Turns an OpenAI request into the job input that OpenAI-speaking workers expect (docs/reference/api.md#openai). */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { INPUT_DEPTH_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import { scanObject } from '../plugins/bodies/json-body.ts';

/** A job to submit. */
export interface OpenaiRequest {
  /** `{"openai_route": …, "openai_input": …}` with the body's bytes as they came. */
  input: Buffer;
  /** Whether the client wants the response as server-sent events. */
  streaming: boolean;
}

const ROUTE_FORM = /^\/[A-Za-z0-9_\-./:@]{1,255}$/;
const CLOSE = Buffer.from('}');
const TRUE = Buffer.from('true');

/** Rejects forms, which OpenAI libraries send for files: the input of a job is JSON. Throws CoreError. */
export function refuseForm(contentType: string | undefined): void {
  if (!contentType?.toLowerCase().startsWith('multipart/form-data')) return;
  throw new CoreError(
    'INVALID_REQUEST',
    'Forms (multipart/form-data) are not taken here: send a JSON object, with the file as base64 text in a member ' +
      'that the worker reads. A load-balancing endpoint takes the form as it is.',
  );
}

/** Reads a request. `path` is the part after /openai; `body` is `undefined` for GET. Throws CoreError. */
export function* readOpenaiRequest(path: string, body: Buffer | undefined): Work<OpenaiRequest> {
  const route = `/${path.replace(/^\/+/, '')}`;
  if (!ROUTE_FORM.test(route)) throw new CoreError('NOT_FOUND', 'There is no such OpenAI route.');
  if (body === undefined) return { input: Buffer.from(`{"openai_route":${JSON.stringify(route)}}`), streaming: false };
  const scan = yield* scanObject(body, ['stream']);
  // One level is added around the body.
  if (scan.depth + 1 > INPUT_DEPTH_MAX)
    throw new CoreError('INVALID_INPUT', `The body is nested more than ${INPUT_DEPTH_MAX - 1} deep.`);
  const head = Buffer.from(`{"openai_route":${JSON.stringify(route)},"openai_input":`);
  return { input: Buffer.concat([head, body, CLOSE]), streaming: scan.member('stream')?.equals(TRUE) ?? false };
}
