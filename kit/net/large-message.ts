/**
 * Messages with a text of users that may have many megabytes, encoded with one copy of it. The generated encoder copies
 * it once for each message that it stands in and once more for each buffer it outgrows: 10 MiB in an answer of a
 * pipeline kept a process from everything else for 20 ms.
 */
import { makeGenericClientConstructor } from '@grpc/grpc-js';
import { Job } from '@slipway/proto/gen/slipway/v1/job';
import type { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import {
  JobServiceService,
  PipelineReply,
  PipelineResponse,
  SubmitJobRequest,
} from '@slipway/proto/gen/slipway/v1/job_service';
import type { ClientConstructor } from './channel.ts';
import { inField } from './field-pieces.ts';

/** Field numbers of job.proto and job_service.proto. */
const JOB_OUTPUT = 4;
const JOB_OF_ANSWER = 1;
const REPLIES = 1;
const REPLY_KINDS = { get: 3, wait: 4 } as const;
const INPUT = 4;
/** Largest text that the generated encoder handles, in bytes. */
const SMALL_BYTES_MAX = 16 * 1024;

/** Encodes a PipelineResponse. */
export function encodePipelineResponse(response: PipelineResponse): Buffer {
  if (!response.replies.some((reply) => largeJob(reply)))
    return Buffer.from(PipelineResponse.encode(response).finish());
  return Buffer.concat(response.replies.flatMap((reply) => inField(REPLIES, replyPieces(reply))));
}

/** Encodes a SubmitJobRequest. */
export function encodeSubmitJobRequest(request: SubmitJobRequest): Buffer {
  const { input } = request;
  if (input.length <= SMALL_BYTES_MAX) return Buffer.from(SubmitJobRequest.encode(request).finish());
  return Buffer.concat([
    SubmitJobRequest.encode({ ...request, input: Buffer.alloc(0) }).finish(),
    ...inField(INPUT, [input]),
  ]);
}

/** Returns the pieces of a reply. Fields may stand in any order. */
function replyPieces(reply: PipelineReply): Uint8Array[] {
  const large = largeJob(reply);
  if (!large) return [PipelineReply.encode(reply).finish()];
  const job = [Job.encode({ ...large.job, output: undefined }).finish(), ...inField(JOB_OUTPUT, [large.output])];
  return [
    PipelineReply.encode({ ...reply, reply: undefined }).finish(),
    ...inField(large.kind, inField(JOB_OF_ANSWER, job)),
  ];
}

function largeJob({ reply }: PipelineReply): { kind: number; job: Job; output: Buffer } | undefined {
  if (reply?.$case !== 'get' && reply?.$case !== 'wait') return undefined;
  const { job } = reply.value;
  return job?.output && job.output.length > SMALL_BYTES_MAX
    ? { kind: REPLY_KINDS[reply.$case], job, output: job.output }
    : undefined;
}

/** JobService with these encoders for large messages. */
export const LargeJobService = {
  ...JobServiceService,
  pipeline: { ...JobServiceService.pipeline, responseSerialize: encodePipelineResponse },
  submitJob: { ...JobServiceService.submitJob, requestSerialize: encodeSubmitJobRequest },
} as const;

/** Client of LargeJobService. */
export const LargeJobServiceClient = makeGenericClientConstructor(
  LargeJobService,
  'slipway.v1.JobService',
) as unknown as ClientConstructor<JobServiceClient>;
