/**
 * The OpenAI surface of queue endpoints: everything under /v2/{endpoint_id}/openai/ is a job
 * (docs/reference/api.md#openai).
 */

import { RUNSYNC_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf } from '../jobs/job-parts.ts';
import { LiveResponse } from '../jobs/live-response.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { queueGate } from '../plugins/authenticate.ts';
import { bodyBytes, dropBody } from '../plugins/bodies/raw-body.ts';
import { handleErrors, openaiErrorShape } from '../plugins/errors/error-handler.ts';
import { answerStream } from './answer-stream.ts';
import { answerWhole } from './answer-whole.ts';
import type { OpenaiJobOptions } from './openai-job.ts';
import { OpenaiJob } from './openai-job.ts';
import { readOpenaiRequest, rejectForm } from './openai-request.ts';

/** Bytes reserved for the wrapper around the body, so that the job's input stays within core's limit. */
const WRAPPER_BYTES = 1_024;

/** Adds GET and POST. */
export function openaiRoutes(app: FastifyInstance, parts: JobParts, gate: GateParts): void {
  handleErrors(app, openaiErrorShape, parts.logger);
  const onRequest = queueGate(gate, {
    operation: 'openai',
    write: true,
    bodyBytesMax: RUNSYNC_PAYLOAD_BYTES_MAX - WRAPPER_BYTES,
  });
  app.route({ method: ['GET', 'POST'], url: '/v2/:endpointId/openai/*', onRequest, handler: openai(parts) });
}

function openai(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const live = new LiveResponse(reply);
    return answerJob(parts, await prepare(parts, request, reply, live), live, reply);
  };
}

/** A job that is about to be submitted, and whether the client wants its output as a stream. */
interface RequestedJob {
  job: OpenaiJob;
  streaming: boolean;
}

/** Runs a job and answers with its output. */
export function answerJob(
  { clock }: Pick<JobParts, 'clock'>,
  { job, streaming }: RequestedJob,
  live: LiveResponse,
  reply: FastifyReply,
): Promise<FastifyReply> {
  return streaming ? answerStream(job, live, reply, clock) : answerWhole(job, reply);
}

/** Prepares the job. A separate function, so that a large body is held only until it is stored. */
async function prepare(
  parts: JobParts,
  request: FastifyRequest,
  reply: FastifyReply,
  live: LiveResponse,
): Promise<RequestedJob> {
  const path = (request.params as { '*': string })['*'];
  if (request.method !== 'GET') rejectForm(request.sentContentType);
  const body = request.method === 'GET' ? undefined : bodyBytes(request.body);
  const { accountId } = request.caller;
  const endTurn = await parts.bodies.turn('openai', request, reply, body?.length ?? 0);
  const { input, streaming } = await parts.bodies.run(accountId, body?.length ?? 0, readOpenaiRequest(path, body));
  return jobOf(parts, { request, reply, live, endpointId: endpointIdOf(request), input, streaming, endTurn });
}

/** A request and the job that it becomes. */
interface JobRequest {
  request: FastifyRequest;
  reply: FastifyReply;
  live: LiveResponse;
  endpointId: string;
  input: Buffer;
  streaming: boolean;
  /** Lets the next large body be processed (`BodyWork.turn`). */
  endTurn: (() => void) | undefined;
}

/** Returns the job of a request, which is not submitted yet. */
export function jobOf(
  parts: JobParts,
  { request, reply, live, endpointId, input, streaming, endTurn }: JobRequest,
): RequestedJob {
  const { apiKey, accountId } = request.caller;
  const hold: OpenaiJobOptions['hold'] = (reading) => parts.answers.hold(request, reply, reading);
  const { trace } = request;
  const job = new OpenaiJob(parts, {
    requestId: request.id,
    apiKey,
    accountId,
    endpointId,
    input,
    traceparent: trace?.traceparent,
    live,
    hold,
    onPassed: ({ isHeld }) => {
      if (!isHeld) dropBody(request);
      endTurn?.();
    },
    onJob: (id) => {
      request.jobId = id;
    },
  });
  return { job, streaming };
}
