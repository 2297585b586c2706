/**
 * Submits the next requests of a batch as jobs, only as many as its queue needs: a batch of fifty thousand never fills
 * the queue of its endpoint.
 */
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { openaiJobInput } from '@slipway/kit/openai/job-input';
import type { Batch } from '../domain/batches/batch.ts';
import { LINE_BYTES_MAX } from '../domain/batches/batch.ts';
import { spareSlots, surplusJobs } from '../domain/batches/slot-use.ts';
import { TTL_MS_MAX } from '../domain/jobs/job-policy.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { PreparedJob } from '../jobs/submit/prepare-job.ts';
import type { NewItem } from '../store/batches/batch-item-rows.ts';
import type { BatchParts } from './batch-engine.ts';
import { holderOf, readInput } from './batch-engine.ts';
import { bodyFor, readLine } from './batch-line.ts';
import { endPending } from './take-results.ts';

/** Bytes of requests in memory at a time. */
const READ_BYTES = LINE_BYTES_MAX + 2 * 1024 * 1024;
/**
 * Milliseconds for which the results of jobs are kept until they are taken over: a core that was away must still find
 * them.
 */
const RESULT_KEPT_MS = 86_400_000;
/** Jobs that are taken back in one step, more than a batch has in a queue. */
const WITHDRAWN_MAX = 500;

/** An endpoint that takes requests of the batch. */
export interface RequestTarget {
  endpointId: string;
  workerModel: string;
  share: number;
}

/** A target with the number of jobs that it takes now, or has too many of. */
interface OpenTarget extends RequestTarget {
  spare: number;
  surplus: number;
}

/** Outcome of a submission. `rejection`: why no more requests could be submitted. */
interface Submitted {
  jobs: number;
  rejection: DomainError | undefined;
}

/** Returns the endpoints that take requests of a batch now. Throws MODEL_NOT_FOUND, ENDPOINT_NOT_FOUND. */
export async function targetsOf({ models }: Pick<BatchParts, 'models'>, batch: Batch): Promise<RequestTarget[]> {
  if (batch.kind === 'ENDPOINT') return [{ endpointId: batch.endpointId, workerModel: '', share: 1 }];
  const found = await models.resolve(holderOf(batch), batch.model);
  const targets = found.flatMap(({ candidate, workerModel, share }) =>
    candidate.type === 'QB' ? [{ endpointId: candidate.id, workerModel, share }] : [],
  );
  if (targets.length > 0) return targets;
  throw new DomainError(
    'WRONG_ENDPOINT_TYPE',
    `Only load-balancing endpoints have the model ${JSON.stringify(batch.model)}, and these have no queue.`,
  );
}

/** Returns the targets with the jobs that they take now, so that normal requests find free slots. */
export async function openTargets(
  { stores, arrivals }: Pick<BatchParts, 'stores' | 'arrivals'>,
  targets: readonly RequestTarget[],
): Promise<OpenTarget[]> {
  const uses = await stores.batchWork.slotUse([...new Set(targets.map(({ endpointId }) => endpointId))]);
  return targets.map((target) => {
    const { endpointId } = target;
    const seen = arrivals.count(endpointId);
    const stored = uses.get(endpointId);
    if (!stored) return { ...target, spare: Infinity, surplus: 0 };
    const use = { ...stored, arrived: Math.max(stored.arrived, seen) };
    return { ...target, spare: spareSlots(use), surplus: surplusJobs(use) };
  });
}

/**
 * Takes back jobs of a batch that wait where normal requests came meanwhile: they would use every slot that becomes
 * free, until none of them is left. Returns their number; their requests are submitted again later.
 */
export async function withdrawSurplus(
  { stores, jobs }: Pick<BatchParts, 'stores' | 'jobs'>,
  batch: Batch,
  targets: readonly OpenTarget[],
): Promise<number> {
  let withdrawn = 0;
  const surplus = new Map(targets.map((target) => [target.endpointId, target.surplus]));
  for (const [endpointId, count] of surplus) {
    if (count === 0) continue;
    const taken = await stores.batchWork.withdraw(batch.id, endpointId, Math.min(count, WITHDRAWN_MAX));
    jobs.withdrawn(taken);
    withdrawn += taken.length;
  }
  return withdrawn;
}

/** Submits up to `count` requests, at most as many as the targets take together. */
export async function submitRequests(
  parts: BatchParts,
  batch: Batch,
  targets: readonly OpenTarget[],
  count: number,
): Promise<Submitted> {
  const open = targets.map((target) => ({ ...target }));
  const { stores, jobs, random } = parts;
  const items = await stores.batchWork.pending(batch.id, count);
  if (items.length === 0) return { jobs: 0, rejection: undefined };
  const start = items[0]!.start;
  const end = items.at(-1)!.start + items.at(-1)!.bytes;
  const part = await readInput(parts, batch.fileId, { start, end, bytesMax: READ_BYTES });
  const prepared: { number: number; job: PreparedJob }[] = [];
  let rejection: DomainError | undefined;
  for (const item of items) {
    const from = item.start - start;
    if (from + item.bytes > part.length) break;
    const target = drawn(open, random.fraction());
    if (!target) break;
    const outcome = await prepare(parts, batch, target, { ...item, text: part.subarray(from, from + item.bytes) });
    if ('job' in outcome) {
      prepared.push({ number: item.number, job: outcome });
      target.spare -= 1;
    } else if (isOfRequest(outcome)) await endPending(parts, batch, [{ ...item, error: outcome.message }]);
    else rejection = outcome;
    if (rejection) break;
  }
  if (prepared.length === 0) return { jobs: 0, rejection };
  const rows = prepared.map(({ number, job: { job } }) => ({ number, job }));
  const stored = await stores.batchWork.submit(batch.id, rows, random.uuid());
  jobs.announce(
    stored,
    prepared.map(({ job }) => job),
  );
  return { jobs: stored.length, rejection };
}

/** Returns the job of a request, or why it can be none. */
async function prepare(
  { jobs, clock }: BatchParts,
  batch: Batch,
  { endpointId, workerModel }: RequestTarget,
  { text }: NewItem & { text: Buffer },
): Promise<PreparedJob | DomainError> {
  let input = text;
  if (batch.kind === 'OPENAI') {
    const line = workNow(readLine(text, batch.route));
    if ('code' in line) return new DomainError('INVALID_REQUEST', line.message);
    input = openaiJobInput(batch.route, bodyFor(line, workerModel));
  }
  const leftMs = batch.expiresAt.getTime() - clock.nowMs();
  try {
    const prepared = await jobs.prepare({
      ...{ endpointId, requestId: '', kind: 'ASYNC', input: Buffer.from(input), webhook: '', s3Config: undefined },
      policy: { lowPriority: true, ttlMs: Math.min(Math.max(leftMs, 0) + RESULT_KEPT_MS, TTL_MS_MAX) },
      ...{ waitMs: 0, idempotencyKey: '', metadata: metadataOf(batch) },
    });
    return { ...prepared, job: { ...prepared.job, retentionMs: RESULT_KEPT_MS, batchId: batch.id } };
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

/** Returns the pairs of a batch that jobs can have as well: pairs with a key. */
function metadataOf({ metadata }: Batch): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== ''));
}

/** Returns whether a rejection is of one request, and not of all at this time. */
function isOfRequest({ reason }: DomainError): boolean {
  return ['INVALID_REQUEST', 'INVALID_INPUT', 'INVALID_POLICY', 'PAYLOAD_TOO_LARGE'].includes(reason);
}

/** Returns a target that takes a job, by shares; `undefined` if none does. */
function drawn(targets: readonly OpenTarget[], fraction: number): OpenTarget | undefined {
  const open = targets.filter(({ spare }) => spare > 0);
  let left = fraction * open.reduce((sum, { share }) => sum + share, 0);
  const found = open.find(({ share }) => {
    left -= share;
    return left < 0;
  });
  return found ?? open.at(-1);
}
