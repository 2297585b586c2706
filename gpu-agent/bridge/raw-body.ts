/**
 * Reads a body as it is, whatever its content type says: results arrive labelled as a form and are JSON
 * (docs/reference/worker-protocol.md#results). A worker's bodies in memory are bounded: a further one is not read, and
 * its sender waits for the network. Nothing is refused for it, because SDKs give up soon.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { ResultBody } from './interpret-result.ts';
import { ERROR_BYTES_MAX } from './interpret-result.ts';

/** Room for the members beside `output`, for instance a long error. */
const BODY_BYTES_MAX = OUTPUT_BYTES_MAX + 1024 * 1024;
/**
 * Bodies of one worker in memory: three of the largest; and what each takes at least, so that their number is bounded
 * too.
 */
const WORKER_BYTES_MAX = 64 * 1024 * 1024;
const BODY_BYTES_MIN = 16 * 1024;
/** What is kept of one that is too large: an error keeps its type and its beginning. */
const OVERSIZE_HEAD_BYTES = ERROR_BYTES_MAX + 1_024;

/** Room for the bodies of workers. How many workers there are is core's to decide. */
export function bodyBudget(): MemoryBudget {
  return new MemoryBudget({ bytesMax: Infinity, ownerBytesMax: WORKER_BYTES_MAX });
}

/**
 * The body of one of a worker's calls, as soon as there is room for it until the call is answered. Rejects when the
 * worker leaves before.
 */
export function readBody(
  stream: IncomingMessage,
  reply: ServerResponse,
  room: MemoryBudget,
  workerId: string,
): Promise<ResultBody> {
  return new Promise((resolve, reject) => {
    const length = stream.headers['content-length'];
    const announced = Number(length ?? BODY_BYTES_MAX);
    const bytes = Math.min(Math.max(announced, BODY_BYTES_MIN), BODY_BYTES_MAX);
    const pieces = (): BytePieces =>
      new BytePieces(length !== undefined && announced <= BODY_BYTES_MAX ? announced : 0);
    const place = room.acquire(workerId, bytes, () => receive(stream, pieces(), resolve, reject));
    reply.once('close', () => {
      place.release();
      reject(new Error('the worker left before its call was answered'));
    });
  });
}

/** A body of nobody: read to its end without being kept, because its sender must get a proper answer. */
export function passBody(stream: IncomingMessage): Promise<undefined> {
  return new Promise((resolve, reject) => {
    stream
      .once('end', () => resolve(undefined))
      .once('error', reject)
      .resume();
  });
}

/** One that is too large is read to its end without being kept, because the worker must get a proper answer. */
function receive(
  stream: IncomingMessage,
  pieces: BytePieces,
  resolve: (body: ResultBody) => void,
  reject: (error: Error) => void,
): void {
  let bytes = 0;
  const head: Buffer[] = [];
  stream.on('data', (piece: Buffer) => {
    // A copy: what is cut from a piece would keep all of it.
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
