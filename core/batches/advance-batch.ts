/** Lets a batch advance by one step, whatever its state. A crash repeats a step at most, and no request runs twice. */
import type { Batch } from '../domain/batches/batch.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { OpenItems } from '../store/batches/batch-work-store.ts';
import type { BatchParts } from './batch-engine.ts';
import { endBatch } from './end-batch.ts';
import type { RequestTarget } from './submit-requests.ts';
import { openTargets, submitRequests, targetsOf, withdrawSurplus } from './submit-requests.ts';
import { stopPending, takeResults } from './take-results.ts';
import { validateBatch } from './validate-batch.ts';

/** Least and most jobs of a batch that wait in queues. */
const QUEUED_MIN = 8;
const QUEUED_MAX = 200;
/** Jobs that are cancelled in one step. */
const CANCELLED_MAX = 50;
/** Steps without progress after which the batch gets a reason. */
const IDLE_STEPS = 10;

/** State of a batch that a replica keeps between steps. Losing it only costs time. */
export interface BatchPace {
  /** Most jobs that may wait. Grows while they are fetched faster than they come. */
  queuedMax: number;
  /** Steps since something happened. */
  idleSteps: number;
}

/** Returns the pace of a batch that this replica has not seen before. */
export function newPace(): BatchPace {
  return { queuedMax: QUEUED_MIN, idleSteps: 0 };
}

/** Advances a batch. Returns whether there is more to do: at once, later, or never. */
export async function advanceBatch(parts: BatchParts, id: string, pace: BatchPace): Promise<'now' | 'later' | 'never'> {
  const found = await parts.stores.batchWork.find(id);
  if (!found || found.batch.endedAt !== null) return 'never';
  const { batch, isOver } = found;
  if (isOver && (batch.state === 'VALIDATING' || batch.state === 'IN_PROGRESS')) {
    await parts.stores.batchWork.move(id, batch.state, 'EXPIRING');
    return 'now';
  }
  return (await step(parts, batch, isOver, pace)) ? 'now' : 'later';
}

/** Returns whether there is more to do at once. */
async function step(parts: BatchParts, batch: Batch, isOver: boolean, pace: BatchPace): Promise<boolean> {
  switch (batch.state) {
    case 'DRAFT':
      if (isOver) await parts.stores.batchWork.move(batch.id, 'DRAFT', 'CANCELLING');
      return isOver;
    case 'VALIDATING':
      return validateBatch(parts, batch);
    case 'IN_PROGRESS':
      return run(parts, batch, pace);
    default:
      return stop(parts, batch);
  }
}

async function run(parts: BatchParts, batch: Batch, pace: BatchPace): Promise<boolean> {
  const { taken, more: areMore } = await takeResults(parts, batch);
  const open = await parts.stores.batchWork.open(batch.id);
  if (open.pending + open.submitted === 0) {
    await endBatch(parts, batch, 'COMPLETED');
    return false;
  }
  // The queue ran dry between two steps: workers are faster than that.
  if (taken > 0 && open.queued === 0) pace.queuedMax = Math.min(pace.queuedMax * 2, QUEUED_MAX);
  let reason: string | undefined = '';
  let submitted = 0;
  try {
    const targets = await openTargets(parts, await targetsOf(parts, batch));
    open.queued -= open.queued > 0 ? await withdrawSurplus(parts, batch, targets) : 0;
    const spare = targets.reduce((sum, target) => sum + target.spare, 0);
    const more = Math.min(open.pending, pace.queuedMax - open.queued, spare);
    reason = more > 0 ? await overQuota(parts, batch) : '';
    if (more > 0 && reason === '') {
      const outcome = await submitRequests(parts, batch, targets, more);
      submitted = outcome.jobs;
      if (outcome.rejection) reason = await rejected(parts, batch, outcome.rejection);
    }
    pace.idleSteps = taken + submitted > 0 ? 0 : pace.idleSteps + 1;
    if (reason === '' && pace.idleSteps >= IDLE_STEPS) reason = await waitReason(parts, targets, open, spare);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    pace.idleSteps += 1;
    reason = await rejected(parts, batch, error);
  }
  if (reason !== undefined && reason !== batch.stalled) await parts.stores.batchWork.stall(batch.id, reason);
  return areMore;
}

/** Returns why the batch waits. `undefined`: it has ended, because its endpoint does not exist any more. */
async function rejected(parts: BatchParts, batch: Batch, error: DomainError): Promise<string | undefined> {
  const isGone = error.reason === 'ENDPOINT_NOT_FOUND' || error.reason === 'WRONG_ENDPOINT_TYPE';
  if (batch.kind === 'OPENAI' || !isGone) return error.message;
  await endBatch(parts, batch, 'FAILED');
  return undefined;
}

async function overQuota({ stores, limits }: BatchParts, { accountId }: Batch): Promise<string> {
  const used = await stores.files.usedBytes(accountId);
  if (used < limits.bytes) return '';
  return `The files and results of the account have ${used} bytes, and may have ${limits.bytes}. Delete some.`;
}

/** Returns why nothing happens: one reason for all endpoints of the batch. Empty if its jobs are running. */
async function waitReason(
  { stores }: BatchParts,
  targets: readonly RequestTarget[],
  { submitted, queued }: OpenItems,
  spare: number,
): Promise<string> {
  const isHeld = submitted === 0 && spare === 0;
  if (!isHeld && (submitted === 0 || queued < submitted)) return '';
  const ids = [...new Set(targets.map(({ endpointId }) => endpointId))];
  const loads = await stores.models.loads(ids);
  const isUp = ids.some((id) => {
    const load = loads.get(id);
    return load !== undefined && load.ready + load.starting > 0;
  });
  const names = ids.join(', ');
  if (isHeld)
    return `Requests with normal priority use ${names}; the batch runs in the slots and the time that they leave.`;
  return isUp
    ? `Its jobs wait at ${names} behind jobs with normal priority, or for a worker that is starting.`
    : `No worker runs at ${names}, and batches start none: they use the time that workers have left. Set workersMin, ` +
        'or send a normal request.';
}

/** Stops a batch that was cancelled, or whose time is over. */
async function stop(parts: BatchParts, batch: Batch): Promise<boolean> {
  const { batchWork } = parts.stores;
  const stopped = await stopPending(parts, batch);
  const running = await batchWork.running(batch.id, CANCELLED_MAX);
  for (const key of running)
    await parts.jobs.cancel(key).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
    });
  const { taken } = await takeResults(parts, batch);
  if (stopped + running.length + taken > 0) return true;
  await endBatch(parts, batch, batch.state === 'EXPIRING' ? 'EXPIRED' : 'CANCELLED');
  return false;
}
