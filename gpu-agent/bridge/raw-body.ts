/**
 * Reads a body as it is, whatever its content type: results arrive labelled as a form and are JSON
 * (docs/reference/worker-protocol.md#results). The memory for a worker's bodies is bounded. A body beyond it is not
 * read yet, and its sender waits on the network. None is rejected for it, because SDKs soon give up.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { ResultBody } from './interpret-result.ts';
import { ERROR_BYTES_MAX } from './interpret-result.ts';

/** Longest body in bytes. Leaves space for the members beside `output`, for instance a long error. */
const BODY_BYTES_MAX = OUTPUT_BYTES_MAX + 1024 * 1024;
/**
 * Bytes of one worker's bodies in memory: enough for three of the largest. BODY_BYTES_MIN is the least that is counted
 * for a body, so that the number of bodies is bounded too.
 */
const WORKER_BYTES_MAX = 64 * 1024 * 1024;
const BODY_BYTES_MIN = 16 * 1024;
/** Bytes that are kept of a body that is too large: an error keeps its type and its beginning. */
const OVERSIZE_HEAD_BYTES = ERROR_BYTES_MAX + 1_024;

/** Creates the memory budget of workers' bodies. The total is not bounded: core decides how many workers there are. */
export function bodyBudget(): MemoryBudget {
  return new MemoryBudget({ bytesMax: Infinity, ownerBytesMax: WORKER_BYTES_MAX });
}

/**
 * Reads the body of a worker's call as soon as the budget allows. The budget is held until the call is answered.
 * Rejects if the worker leaves before.
 */
export function readBody(
  stream: IncomingMessage,
  reply: ServerResponse,
  budget: MemoryBudget,
  workerId: string,
): Promise<ResultBody> {
  return new Promise((resolve, reject) => {
    const length = stream.headers['content-length'];
    const announced = Number(length ?? BODY_BYTES_MAX);
    const bytes = Math.min(Math.max(announced, BODY_BYTES_MIN), BODY_BYTES_MAX);
    const pieces = (): BytePieces =>
      new BytePieces(length !== undefined && announced <= BODY_BYTES_MAX ? announced : 0);
    const permit = budget.acquire(workerId, bytes, () => receive(stream, pieces(), resolve, reject));
    reply.once('close', () => {
      permit.release();
      reject(new Error('the worker left before its call was answered'));
    });
  });
}

/** Reads an unauthenticated body to its end without keeping it, because its sender must get a proper answer. */
export function passBody(stream: IncomingMessage): Promise<undefined> {
  return new Promise((resolve, reject) => {
    stream
      .once('end', () => resolve(undefined))
      .once('error', reject)
      .resume();
  });
}

/**
 * Receives a body. A body that is too large is read to its end without being kept, because the worker must get a proper
 * answer.
 */
function receive(
  stream: IncomingMessage,
  pieces: BytePieces,
  resolve: (body: ResultBody) => void,
  reject: (error: Error) => void,
): void {
  let bytes = 0;
  const head: Buffer[] = [];
  stream.on('data', (piece: Buffer) => {
    // A copy: a view of the piece would keep all of it.
    if (bytes < OVERSIZE_HEAD_BYTES) head.push(Buffer.from(piece.subarray(0, OVERSIZE_HEAD_BYTES - bytes)));
    bytes += piece.length;
    if (bytes <= BODY_BYTES_MAX) pieces.add(piece);
    else pieces.clear();
  });
  stream.once('end', () => {
    if (bytes > BODY_BYTES_MAX) resolve({ oversizeBytes: bytes, head: Buffer.concat(head) });
    else resolve({ bytes: pieces.take() });
  });
  stream.once('error', reject);
}
