/** Takes over the results of jobs that have ended, and gives requests that will not run theirs. */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { Batch } from '../domain/batches/batch.ts';
import { RESULT_PIECE_BYTES } from '../domain/batches/batch.ts';
import { OUTPUT_BYTES_MAX } from '../domain/jobs/job-limits.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { batchResultIdentity } from '../domain/settings/sealed-identity.ts';
import { WaitStopper } from '../jobs/read/wait-stopper.ts';
import type { ItemResult } from '../store/batches/batch-item-rows.ts';
import type { EndedItem } from '../store/batches/batch-work-store.ts';
import type { BatchParts } from './batch-engine.ts';
import type { EndedRequest } from './render-result.ts';
import { renderResult } from './render-result.ts';

/** Results of one step, and their bytes, beyond which only the last may go. */
const RESULTS_MAX = 100;
const BYTES_MAX = 16 * 1024 * 1024;
/** Requests that get the same error in one step. */
const STOPPED_MAX = 1_000;
const NEVER = new WaitStopper();

/** Takes over some results. Returns their number, and whether more of them are ready. */
export async function takeResults(parts: BatchParts, batch: Batch): Promise<{ taken: number; more: boolean }> {
  const { batchWork } = parts.stores;
  const results: ItemResult[] = [];
  let bytes = 0;
  const ended = await batchWork.ended(batch.id, RESULTS_MAX);
  for (const item of ended) {
    if (bytes > 0 && bytes + item.outputBytes > BYTES_MAX) break;
    bytes += item.outputBytes;
    results.push(await resultOf(parts, batch, await read(parts, item), item.startedMs));
  }
  const more = ended.length === RESULTS_MAX || results.length < ended.length;
  return { taken: await record(parts, batch, 'SUBMITTED', results), more };
}

/** Ends requests that are no jobs yet: their time is over, or their batch was cancelled. Returns their number. */
export async function stopPending(parts: BatchParts, batch: Batch): Promise<number> {
  const pending = await parts.stores.batchWork.pending(batch.id, STOPPED_MAX);
  return endPending(
    parts,
    batch,
    pending.map(({ number, customId }) => ({ number, customId, error: undefined })),
  );
}

/** Ends requests that are no jobs yet. `error`: why they cannot be any; `undefined`: the batch is being stopped. */
export async function endPending(
  parts: BatchParts,
  batch: Batch,
  items: readonly Pick<EndedRequest, 'number' | 'customId' | 'error'>[],
): Promise<number> {
  const results: ItemResult[] = [];
  for (const item of items)
    results.push(await resultOf(parts, batch, { ...item, jobId: '', jobState: null, output: undefined }, null));
  return record(parts, batch, 'PENDING', results);
}

async function record(
  { stores, onEnded }: BatchParts,
  { id }: Batch,
  from: 'PENDING' | 'SUBMITTED',
  results: readonly ItemResult[],
): Promise<number> {
  const { completed, failed } = await stores.batchWork.record(id, from, results);
  onEnded('completed', completed);
  onEnded('failed', failed);
  return completed + failed;
}

async function resultOf(
  { checks, sealer }: BatchParts,
  batch: Batch,
  ended: EndedRequest,
  startedMs: number | null,
): Promise<ItemResult> {
  const work = function* (): Work<ItemResult> {
    const { state, side, text } = yield* renderResult(batch, ended);
    const pieces: ItemResult['pieces'][number][] = [];
    for (let at = 0; at < text.length; at += RESULT_PIECE_BYTES) {
      const piece = text.subarray(at, at + RESULT_PIECE_BYTES);
      const identity = batchResultIdentity(batch.id, ended.number, pieces.length);
      pieces.push({ bytes: piece.length, sealed: sealer.seal(piece, identity) });
      yield;
    }
    return { number: ended.number, state, side, pieces, startedMs };
  };
  return checks.run(batch.accountId, ended.output?.length ?? 0, work());
}

async function read({ jobs }: BatchParts, item: EndedItem): Promise<EndedRequest> {
  const { number, customId, jobId, endpointId } = item;
  const gone = { number, customId, jobId, jobState: null, output: undefined, error: undefined };
  if (item.state === null) return gone;
  try {
    const job = await jobs.get({ endpointId, jobId }, { omitOutput: false, ttlMs: 0 });
    const output = job.state === 'COMPLETED' ? (job.output ?? (await streamed(jobs, item))) : undefined;
    return { ...gone, jobState: job.state, output, error: job.error };
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'JOB_NOT_FOUND') return gone;
    throw error;
  }
}

/** Returns the output of a handler that streamed and returned nothing: one chunk as it is, several as a list. */
async function streamed(jobs: BatchParts['jobs'], key: Pick<EndedItem, 'endpointId' | 'jobId'>) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (let cursor = { attempt: 0, number: 0 }; ; ) {
    const page = await jobs.readChunks(key, { cursor, waitMs: 0, limit: 1_000 }, NEVER);
    for (const { output } of page.chunks) {
      chunks.push(output);
      bytes += output.length;
    }
    if (!page.more || bytes > OUTPUT_BYTES_MAX) break;
    cursor = page.cursor;
  }
  if (chunks.length < 2 || bytes > OUTPUT_BYTES_MAX) return chunks[0];
  const joined = chunks.flatMap((chunk, index) => (index === 0 ? [chunk] : [Buffer.from(','), chunk]));
  return Buffer.concat([Buffer.from('['), ...joined, Buffer.from(']')]);
}
