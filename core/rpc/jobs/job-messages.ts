/**
 * Converts jobs between the wire and the domain. Total in both directions: a new state or kind does not compile until
 * it has its row.
 */

import { recordedTrace } from '@slipway/kit/observe/trace';
import type { Job as WireJob } from '@slipway/proto/gen/slipway/v1/job';
import { S3Config, SubmitKind as WireKind, JobState as WireState } from '@slipway/proto/gen/slipway/v1/job';
import type {
  GetHealthResponse,
  ListJobsRequest,
  ReadChunksResponse,
  SubmitJobRequest,
  WebhookDelivery,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { JobSpan, WebhookDeliveryState } from '@slipway/proto/gen/slipway/v1/job_service';
import { WAIT_MS_DEFAULT, WAIT_MS_MAX, WAIT_MS_MIN } from '@slipway/proto/wire/limits';
import type { Job } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { SubmitKind } from '../../domain/jobs/retention.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { ChunkPage } from '../../jobs/read/chunk-page.ts';
import type { EndpointHealth } from '../../jobs/read/endpoint-health.ts';
import type { Submission } from '../../jobs/submit/submission.ts';
import type { JobListRequest } from '../../store/jobs/job-list.ts';
import type { WebhookCallRecord } from '../../store/webhooks/webhook-result-store.ts';
import { reasonFor } from '../reports/explain-messages.ts';

export const STATE_TO_WIRE: Record<JobState, WireState> = {
  IN_QUEUE: WireState.IN_QUEUE,
  IN_PROGRESS: WireState.IN_PROGRESS,
  COMPLETED: WireState.COMPLETED,
  FAILED: WireState.FAILED,
  CANCELLED: WireState.CANCELLED,
  TIMED_OUT: WireState.TIMED_OUT,
};

const STATE_FROM_WIRE: Record<WireState, JobState | undefined> = {
  [WireState.UNSPECIFIED]: undefined,
  [WireState.IN_QUEUE]: 'IN_QUEUE',
  [WireState.IN_PROGRESS]: 'IN_PROGRESS',
  [WireState.COMPLETED]: 'COMPLETED',
  [WireState.FAILED]: 'FAILED',
  [WireState.CANCELLED]: 'CANCELLED',
  [WireState.TIMED_OUT]: 'TIMED_OUT',
};

const SPAN_FROM_WIRE: Record<JobSpan, JobListRequest['longest']> = {
  [JobSpan.UNSPECIFIED]: undefined,
  [JobSpan.DELAY]: 'delay',
  [JobSpan.EXECUTION]: 'execution',
};

const KIND_FROM_WIRE: Record<WireKind, SubmitKind | undefined> = {
  [WireKind.UNSPECIFIED]: undefined,
  [WireKind.ASYNC]: 'ASYNC',
  [WireKind.SYNC]: 'SYNC',
};

/** Converts a job for callers. */
export function jobToMessage(job: Job): WireJob {
  return {
    id: job.id,
    endpointId: job.endpointId,
    state: STATE_TO_WIRE[job.state],
    output: job.output,
    error: job.error,
    delayMs: job.delayMs,
    executionMs: job.executionMs,
    retries: job.retries,
    workerId: job.workerId,
    attempt: job.attempt,
    submitTime: new Date(job.submittedAtMs),
    finishTime: job.finishedAtMs === undefined ? undefined : new Date(job.finishedAtMs),
    metadata: job.metadata && { pairs: { ...job.metadata } },
  };
}

/** Converts a webhook call of a job, with the id that its receiver gets. */
export function webhookToMessage(jobId: string, record: WebhookCallRecord): WebhookDelivery {
  const { id, state, tries, lastError, redrives, dueAtMs, endedAtMs } = record;
  return {
    id: `${jobId}.${id}`,
    state: WebhookDeliveryState[state],
    tries,
    lastError,
    redrives,
    dueTime: dueAtMs === undefined ? undefined : new Date(dueAtMs),
    endTime: endedAtMs === undefined ? undefined : new Date(endedAtMs),
  };
}

/** Converts a filter of jobs and their order. Throws INVALID_REQUEST for an unknown state or an invalid span. */
export function selectionFromMessage({
  state,
  oldestFirst,
  longest = JobSpan.UNSPECIFIED,
  submittedFrom,
  submittedUntil,
  offset,
  limit,
}: Omit<ListJobsRequest, 'endpointId' | 'pageToken'>): JobListRequest {
  if (!(longest in SPAN_FROM_WIRE)) throw new DomainError('INVALID_REQUEST', `${longest} is no span of a job`);
  const submitted = submittedFromMessage({ submittedFrom, submittedUntil });
  return { state: stateFromWire(state), oldestFirst, longest: SPAN_FROM_WIRE[longest], submitted, offset, limit };
}

/** Converts a state. `undefined` if unspecified. Throws INVALID_REQUEST for an unknown state. */
export function stateFromWire(state: WireState): JobState | undefined {
  if (!(state in STATE_FROM_WIRE)) throw new DomainError('INVALID_REQUEST', `${state} is no state of a job`);
  return STATE_FROM_WIRE[state];
}

/** Converts a period of submission. `undefined` if unlimited. */
export function submittedFromMessage({
  submittedFrom,
  submittedUntil,
}: Pick<ListJobsRequest, 'submittedFrom' | 'submittedUntil'>): JobListRequest['submitted'] {
  return submittedFrom || submittedUntil
    ? { fromMs: submittedFrom?.getTime(), untilMs: submittedUntil?.getTime() }
    : undefined;
}

/** Converts a submission. Throws INVALID_REQUEST if it has no kind, or its wait is out of range. */
export function submissionFromMessage(request: SubmitJobRequest): Submission {
  const kind = KIND_FROM_WIRE[request.kind];
  if (kind === undefined)
    throw new DomainError('INVALID_REQUEST', 'kind must be SUBMIT_KIND_ASYNC or SUBMIT_KIND_SYNC');
  const waitMs = request.waitMs === 0 ? WAIT_MS_DEFAULT : request.waitMs;
  if (kind === 'SYNC' && (waitMs < WAIT_MS_MIN || waitMs > WAIT_MS_MAX)) {
    throw new DomainError('INVALID_REQUEST', `wait_ms is ${waitMs}, but must be from ${WAIT_MS_MIN} to ${WAIT_MS_MAX}`);
  }
  const { executionTimeoutMs, lowPriority, ttlMs } = request.policy ?? {};
  return {
    endpointId: request.endpointId,
    requestId: request.requestId,
    kind,
    input: request.input,
    webhook: request.webhook,
    policy: { executionTimeoutMs, lowPriority, ttlMs },
    s3Config: request.s3Config && Buffer.from(S3Config.encode(request.s3Config).finish()),
    waitMs,
    idempotencyKey: request.idempotencyKey,
    traceparent: recordedTrace(request.traceparent),
    metadata: request.metadata?.pairs,
  };
}

/** Converts a page of streamed output. */
export function chunkPageToMessage(page: ChunkPage): ReadChunksResponse {
  return {
    chunks: page.chunks,
    state: STATE_TO_WIRE[page.state],
    cursor: { attempt: page.cursor.attempt, number: page.cursor.number },
    more: page.more,
    error: page.error,
  };
}

/** Converts counts. Only the operator gets the names of machines. */
export function healthToMessage(
  { jobs, workers, refusal, cannotRun }: EndpointHealth,
  operator: boolean,
): GetHealthResponse {
  const reasons = { throttledReason: reasonFor(refusal, operator), cannotRunReason: reasonFor(cannotRun, operator) };
  return { jobs, workers: { ...workers, ...reasons } };
}
