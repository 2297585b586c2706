/** Responds to an OpenAI request without streaming. */

import type { ErrorCode } from '@slipway/kit/net/error-help';
import { helpLink, isOpenaiCode } from '@slipway/kit/net/help-link';
import { unwrapOutput } from '@slipway/kit/openai/unwrap-output';
import type { OpenaiError } from '@slipway/kit/openai/worker-error';
import { errorMembers, outputError } from '@slipway/kit/openai/worker-error';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyReply } from 'fastify';
import { sendJson } from '../jobs/job-parts.ts';
import { errorOfJob } from './job-error.ts';
import type { OpenaiJob } from './openai-job.ts';

const TOO_LARGE: OpenaiError = {
  status: 500,
  error: {
    message: `The worker streamed more than ${OUTPUT_BYTES_MAX} bytes: ask for a stream.`,
    type: 'server_error',
    param: null,
    code: 'output_too_large' satisfies ErrorCode,
  },
};

/** Waits for the job and sends its output, or its error with the worker's code. */
export async function answerWhole(job: OpenaiJob, reply: FastifyReply): Promise<FastifyReply> {
  const final = await job.finish();
  // The client has disconnected.
  if (final === undefined) return reply.hijack();
  if (final.state !== JobState.COMPLETED) return sendOpenaiError(reply, errorOfJob(final.state, final.error));
  const output =
    (await job.work(final.output?.length ?? 0, unwrapOutput(final.output))) ?? (await streamedOutput(job, final));
  if (output === undefined) return sendOpenaiError(reply, TOO_LARGE);
  const error = outputError(await job.work(output.length, errorMembers(output)));
  return error ? sendOpenaiError(reply, error) : sendJson(reply, output);
}

/** Sends an error in OpenAI's envelope. The client library must not retry: that would run the job once more. */
export function sendOpenaiError(reply: FastifyReply, { status, error }: OpenaiError): FastifyReply {
  if (isOpenaiCode(error.code)) reply.header('link', helpLink(error.code));
  return sendJson(reply.code(status).header('x-should-retry', 'false'), JSON.stringify({ error }));
}

/**
 * Returns the output of a generator handler without aggregation, from the log of chunks. `undefined` if it is too
 * large.
 */
async function streamedOutput(job: OpenaiJob, final: Job): Promise<Buffer | undefined> {
  const chunks = await job.chunks();
  if (chunks === undefined) return undefined;
  if (chunks.length === 1) return chunks[0]!.output;
  return chunks.length === 0
    ? (final.output ?? Buffer.from('null'))
    : Buffer.concat([Buffer.from('['), ...joined(chunks), Buffer.from(']')]);
}

function joined(chunks: readonly { output: Buffer }[]): Buffer[] {
  return chunks.flatMap(({ output }, index) => (index === 0 ? [output] : [Buffer.from(','), output]));
}
