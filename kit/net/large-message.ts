/**
 * Messages with a text of users that may have many megabytes, encoded with one copy of it and decoded without any. The
 * generated encoder copies it once for each message that it stands in and once more for each buffer it outgrows: 10 MiB
 * in an answer of a pipeline kept a process from everything else for 20 ms.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { makeGenericClientConstructor } from '@grpc/grpc-js';
import { Job } from '@slipway/proto/gen/slipway/v1/job';
import type { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import {
  JobServiceService,
  PipelineReply,
  PipelineResponse,
  SubmitJobRequest,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { takeRoomBefore } from '../bytes/byte-pieces.ts';
import type { SentBytes } from '../bytes/free-bytes.ts';
import { countSends, freeSentBytes } from '../bytes/free-bytes.ts';
import type { Work } from '../bytes/sliced-work.ts';
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
/** Bytes copied in one step, some 0.1 ms of work. */
const STEP_BYTES = 256 * 1024;

/** Encodes a PipelineResponse. */
export function encodePipelineResponse(response: PipelineResponse): Buffer {
  if (!response.replies.some((reply) => largeJob(reply)))
    return Buffer.from(PipelineResponse.encode(response).finish());
  return Buffer.concat(response.replies.flatMap((reply) => inField(REPLIES, replyPieces(reply))));
}

/** Bytes of the head of a gRPC message. */
const GRPC_HEAD_BYTES = 5;

/** An encoded message, and the buffer that it is a part of: free space for its gRPC head, and then the message. */
interface FramedMessage extends Buffer {
  /** Read by our patch of grpc-js (deploy/patches), which then sends this buffer instead of a copy. */
  framed?: SentBytes;
}

/** Encoded requests that are about to be sent. */
const prepared = new WeakMap<SubmitJobRequest, FramedMessage>();

/** Encodes a SubmitJobRequest, unless `prepareSubmitJobRequest` has. */
export function encodeSubmitJobRequest(request: SubmitJobRequest): Buffer {
  const known = prepared.get(request);
  if (known) return known;
  if (request.input.length <= SMALL_BYTES_MAX) return Buffer.from(SubmitJobRequest.encode(request).finish());
  return Buffer.concat([...headPieces(request), request.input]);
}

/**
 * Encodes a SubmitJobRequest in steps: around its input if that is a part of a large body, which nothing else may read
 * from then on, or else in a copy.
 */
export function* prepareSubmitJobRequest(request: SubmitJobRequest): Work<void> {
  const head = Buffer.concat(headPieces(request));
  const framed = framedAround(request.input, head) ?? (yield* framedCopy(request.input, head));
  countSends(framed);
  const encoded: FramedMessage = framed.subarray(GRPC_HEAD_BYTES);
  encoded.framed = framed;
  prepared.set(request, encoded);
}

/** Writes the head of a message before its input. `undefined` if there is no memory for it. */
function framedAround(input: Uint8Array, head: Buffer): Buffer | undefined {
  const room = takeRoomBefore(input);
  const bytes = GRPC_HEAD_BYTES + head.length;
  if (!room || room.length < bytes) return undefined;
  head.copy(room, room.length - head.length);
  return Buffer.from(input.buffer, input.byteOffset - bytes, bytes + input.length);
}

function* framedCopy(input: Uint8Array, head: Buffer): Work<Buffer> {
  const framed = Buffer.allocUnsafeSlow(GRPC_HEAD_BYTES + head.length + input.length);
  let filled = GRPC_HEAD_BYTES + head.copy(framed, GRPC_HEAD_BYTES);
  for (let at = 0; at < input.length; at += STEP_BYTES) {
    const part = input.subarray(at, at + STEP_BYTES);
    framed.set(part, filled);
    filled += part.length;
    yield;
  }
  return framed;
}

/** Frees the memory that `prepareSubmitJobRequest` has filled, after the answer to the request. */
export function freeSubmitJobRequest(request: SubmitJobRequest): void {
  const framed = prepared.get(request)?.framed;
  prepared.delete(request);
  if (framed) freeSentBytes(framed);
}

/** Returns everything before the input. */
function headPieces(request: SubmitJobRequest): Uint8Array[] {
  const [inputHead] = inField(INPUT, [request.input]);
  return [SubmitJobRequest.encode({ ...request, input: Buffer.alloc(0) }).finish(), inputHead!];
}

/**
 * Decodes a SubmitJobRequest. An input that is most of `bytes` is a view of them. Throws Error if they are no such
 * message.
 */
export function decodeSubmitJobRequest(bytes: Buffer): SubmitJobRequest {
  if (bytes.length <= SMALL_BYTES_MAX) return SubmitJobRequest.decode(bytes);
  const reader = new BinaryReader(bytes);
  const others: Buffer[] = [];
  let input: Buffer = Buffer.alloc(0);
  while (reader.pos < reader.len) {
    const from = reader.pos;
    const [field, type] = reader.tag();
    if (field === INPUT && type === WireType.LengthDelimited) {
      const view = reader.bytes();
      // A view keeps all of `bytes` in memory, also what is no input and counts nowhere.
      const isMost = 2 * view.length >= bytes.length;
      input = isMost ? Buffer.from(view.buffer, view.byteOffset, view.length) : Buffer.from(view);
      continue;
    }
    reader.skip(type, field);
    others.push(bytes.subarray(from, reader.pos));
  }
  return { ...SubmitJobRequest.decode(Buffer.concat(others)), input };
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

/** JobService with these functions for large messages. */
export const LargeJobService = {
  ...JobServiceService,
  pipeline: { ...JobServiceService.pipeline, responseSerialize: encodePipelineResponse },
  submitJob: {
    ...JobServiceService.submitJob,
    requestSerialize: encodeSubmitJobRequest,
    requestDeserialize: decodeSubmitJobRequest,
  },
} as const;

/** Client of LargeJobService. */
export const LargeJobServiceClient = makeGenericClientConstructor(
  LargeJobService,
  'slipway.v1.JobService',
) as unknown as ClientConstructor<JobServiceClient>;
