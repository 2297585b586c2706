/**
 * Reads the body of an upload while it arrives: unpacked, and bounded in bytes and in silence. It never destroys the
 * request, which would lose its connection, and its client the response.
 */
import type { Readable } from 'node:stream';
import type { MemoryBudget, MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import { unpack } from '../plugins/bodies/unpack.ts';
import { SlowBody, TooManyRequests } from '../plugins/errors/public-error.ts';

/** Dependencies of an upload. */
export interface UploadParts {
  /** Memory of bodies, in total and by account. */
  memory: MemoryBudget;
  /** Longest wait for that memory, and longest pause between two chunks, in milliseconds. */
  timeouts: { memoryMs: number; idleMs: number };
  clock: Clock;
}

/**
 * Calls `store` with the chunks of the body, with memory for `bytes` bytes of them. The rest of the body is discarded
 * when `store` has ended. Throws its errors, and CoreError for a body that is broken, too large, or late.
 */
export async function readUpload<Result>(
  parts: UploadParts,
  request: FastifyRequest,
  bytes: number,
  store: (chunks: AsyncIterable<Buffer>) => Promise<Result>,
): Promise<Result> {
  const { raw, bodyBytesMax } = request;
  const permit = await acquire(parts, request, bytes);
  let fault: CoreError | undefined;
  try {
    const { body, stop } = unpack(raw, (error) => {
      fault = error;
    });
    // A compressed body would wait for the rest forever.
    const leave = (): void => {
      if (raw.readableAborted) body.destroy();
    };
    raw.once('close', leave);
    try {
      return await store(chunksOf(parts, body, bodyBytesMax));
    } finally {
      raw.off('close', leave);
      stop();
    }
  } catch (error) {
    throw raw.readableAborted ? cutOff() : (fault ?? error);
  } finally {
    permit.release();
    raw.resume();
  }
}

/** Waits for memory as long as the client is connected. Throws TooManyRequests. */
async function acquire(
  { memory, timeouts: { memoryMs }, clock }: UploadParts,
  { raw, caller: { accountId } }: FastifyRequest,
  bytes: number,
): Promise<MemoryPermit> {
  const granted = Promise.withResolvers<void>();
  const permit = memory.acquire(accountId, bytes, () => granted.resolve());
  const timer = clock.after(memoryMs, () =>
    granted.reject(new TooManyRequests('Too much is being sent at once; try again shortly.', 1)),
  );
  const leave = (): void => granted.reject(cutOff());
  if (raw.destroyed) leave();
  raw.once('close', leave);
  try {
    await granted.promise;
    return permit;
  } catch (error) {
    permit.release();
    throw error;
  } finally {
    timer.cancel();
    raw.off('close', leave);
  }
}

async function* chunksOf(
  { clock, timeouts: { idleMs } }: UploadParts,
  body: Readable,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let bytes = 0;
  try {
    for (;;) {
      const { value, done } = await withoutSilence(chunks.next(), idleMs, clock);
      if (done) return;
      bytes += (value as Buffer).length;
      if (bytes > bytesMax)
        throw new CoreError(
          'PAYLOAD_TOO_LARGE',
          `The body is larger than the ${bytesMax} bytes that an upload may have.`,
        );
      yield value as Buffer;
    }
  } finally {
    // Not awaited: after a silence the next chunk may never come.
    chunks.return?.().catch(() => undefined);
  }
}

/** Throws SlowBody if the next chunk does not arrive in time. */
async function withoutSilence<Chunk>(next: Promise<Chunk>, idleMs: number, clock: Clock): Promise<Chunk> {
  let timer: Timer | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = clock.after(idleMs, () => reject(new SlowBody(`No part of the body arrived for ${idleMs / 1_000} s.`)));
  });
  try {
    return await Promise.race([next, silence]);
  } finally {
    timer?.cancel();
  }
}

function cutOff(): CoreError {
  return new CoreError('INVALID_REQUEST', 'The connection ended before the body did.');
}
