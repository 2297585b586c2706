/** Turns an OpenAI request into the job input that OpenAI-speaking workers expect (docs/reference/api.md#openai). */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { openaiJobInput } from '@slipway/kit/openai/job-input';
import { INPUT_DEPTH_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import { scanObject } from '../plugins/bodies/json-body.ts';

/** A job to submit. */
interface OpenaiRequest {
  /** `{"openai_route": …, "openai_input": …}` with the body's bytes as they came. */
  input: Buffer;
  /** Whether the client wants the response as server-sent events. */
  streaming: boolean;
}

const ROUTE_FORM = /^\/[A-Za-z0-9_\-./:@]{1,255}$/;
/** Value of a JSON member that is true. */
export const TRUE = Buffer.from('true');

/** Returns whether a content type is a form's. OpenAI libraries send forms for files. */
export function isForm(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('multipart/form-data') ?? false;
}

/** Rejects forms: the input of a job is JSON. Throws CoreError. */
export function rejectForm(contentType: string | undefined): void {
  if (!isForm(contentType)) return;
  throw new CoreError(
    'INVALID_REQUEST',
    'Forms (multipart/form-data) are not taken here: send a JSON object, with the file as base64 text in a member ' +
      'that the worker reads, or send the form to /openai/v1, which does so. A load-balancing endpoint takes it as ' +
      'it is.',
  );
}

/** Returns the route of a path, the part after /openai. Throws NOT_FOUND if it cannot be one. */
export function routeOf(path: string): string {
  const route = `/${path.replace(/^\/+/, '')}`;
  if (!ROUTE_FORM.test(route)) throw new CoreError('NOT_FOUND', 'There is no such OpenAI route.');
  return route;
}

/** Throws INVALID_INPUT if a body of this depth is nested too deep: one level is added around it. */
export function checkDepth(depth: number): void {
  if (depth + 1 > INPUT_DEPTH_MAX)
    throw new CoreError('INVALID_INPUT', `The body is nested more than ${INPUT_DEPTH_MAX - 1} deep.`);
}

/** Reads a request. `path` is the part after /openai; `body` is `undefined` for GET. Throws CoreError. */
export function* readOpenaiRequest(path: string, body: Buffer | undefined): Work<OpenaiRequest> {
  const route = routeOf(path);
  if (body === undefined) return { input: Buffer.from(`{"openai_route":${JSON.stringify(route)}}`), streaming: false };
  const scan = yield* scanObject(body, ['stream']);
  checkDepth(scan.depth);
  return { input: openaiJobInput(route, [body]), streaming: scan.member('stream')?.equals(TRUE) ?? false };
}
