/** Makes of the end of a request what its owner reads: a line of a file, or the result in a list. */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { unwrapOutput } from '@slipway/kit/openai/unwrap-output';
import { errorMembers, jobError, outputError } from '@slipway/kit/openai/worker-error';
import type { Batch, ItemState } from '../domain/batches/batch.ts';
import type { JobState } from '../domain/jobs/job-state.ts';

/** A request that has ended. */
export interface EndedRequest {
  number: number;
  customId: string;
  /** Empty: it never was a job. */
  jobId: string;
  /** State of its job. Null: there is none any more, or never was. */
  jobState: JobState | null;
  /** JSON text. */
  output: Buffer | undefined;
  error: string | undefined;
}

/** Result line of a request, and the file that lists it. */
interface Rendered {
  state: ItemState;
  side: 'OUTPUT' | 'ERROR';
  text: Buffer;
}

const SPACE = 0x20;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Errors of requests without a response, by the state of the batch. */
const NOT_RUN = {
  EXPIRING: {
    state: 'EXPIRED',
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  CANCELLING: {
    state: 'CANCELLED',
    code: 'batch_cancelled',
    message: 'The batch was cancelled before this request ran.',
  },
} as const;
const LOST = {
  state: 'FAILED',
  code: 'job_deleted',
  message: 'The job of this request was deleted: its queue was purged, or its endpoint was deleted.',
} as const;

/** Renders a request. */
export function* renderResult(batch: Batch, ended: EndedRequest): Work<Rendered> {
  const { jobState } = ended;
  const stopped = batch.state === 'EXPIRING' || batch.state === 'CANCELLING' ? NOT_RUN[batch.state] : undefined;
  if (jobState === null && ended.error !== undefined)
    return withoutResponse(batch, ended, { state: 'FAILED', code: 'invalid_request', message: ended.error });
  if (jobState === null) return withoutResponse(batch, ended, stopped ?? LOST);
  if (jobState === 'CANCELLED' && stopped) return withoutResponse(batch, ended, stopped);
  return batch.kind === 'ENDPOINT' ? plainResult(ended, jobState) : yield* openaiLine(batch, ended, jobState);
}

function* openaiLine(batch: Batch, ended: EndedRequest, jobState: JobState): Work<Rendered> {
  const output = jobState === 'COMPLETED' ? ((yield* unwrapOutput(ended.output)) ?? Buffer.from('null')) : undefined;
  const error = output ? outputError(yield* errorMembers(output)) : jobError(jobState, ended.error);
  const body = error ? Buffer.from(JSON.stringify({ error: error.error })) : oneLine(output!);
  const head = JSON.stringify({ status_code: error?.status ?? 200, request_id: ended.jobId }).slice(0, -1);
  const response = [Buffer.from(`${head},"body":`), body, Buffer.from('}')];
  return {
    state: error ? 'FAILED' : 'COMPLETED',
    side: error ? 'ERROR' : 'OUTPUT',
    text: lineOf(batch, ended, response, null),
  };
}

function withoutResponse(
  batch: Batch,
  ended: EndedRequest,
  { state, code, message }: { state: ItemState; code: string; message: string },
): Rendered {
  const text =
    batch.kind === 'ENDPOINT'
      ? Buffer.from(JSON.stringify({ status: state, error: message }))
      : lineOf(batch, ended, [Buffer.from('null')], { code, message });
  return { state, side: 'ERROR', text };
}

function lineOf(batch: Batch, { number, customId }: EndedRequest, response: readonly Buffer[], error: object | null) {
  const id = `batch_req_${batch.id.replace('batch_', '')}_${number}`;
  const head = JSON.stringify({ id, custom_id: customId }).slice(0, -1);
  return Buffer.concat([
    Buffer.from(`${head},"response":`),
    ...response,
    Buffer.from(`,"error":${JSON.stringify(error)}}\n`),
  ]);
}

function plainResult({ output, error }: EndedRequest, jobState: JobState): Rendered {
  const head = Buffer.from(`{"status":${JSON.stringify(jobState)}`);
  const rest =
    jobState === 'COMPLETED'
      ? [Buffer.from(',"output":'), output ?? Buffer.from('null')]
      : [Buffer.from(`,"error":${JSON.stringify(error ?? `The job is ${jobState}.`)}`)];
  return {
    state: jobState === 'COMPLETED' || jobState === 'CANCELLED' ? jobState : 'FAILED',
    side: jobState === 'COMPLETED' ? 'OUTPUT' : 'ERROR',
    text: Buffer.concat([head, ...rest, Buffer.from('}')]),
  };
}

/** Replaces line breaks by spaces. In JSON they occur only between values. */
function oneLine(json: Buffer): Buffer {
  if (!json.includes(NEWLINE) && !json.includes(RETURN)) return json;
  const copy = Buffer.from(json);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === NEWLINE || copy[at] === RETURN) copy[at] = SPACE;
  return copy;
}
