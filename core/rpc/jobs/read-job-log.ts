/**
 * Handles JobService.GetJobLog: finds the workers of a job's attempts and reads a page of their logs, first attempt
 * first.
 */
import type { Metadata } from '@grpc/grpc-js';
import type { JobLogPage } from '@slipway/proto/gen/slipway/v1/job_log';
import type { GetJobLogRequest, GetJobLogResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { isFinal } from '../../domain/jobs/job-state.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { JobAttempt } from '../../store/reports/explain-store.ts';
import type { Stores } from '../../store/storage.ts';
import { STATE_TO_WIRE } from './job-messages.ts';
import type { LogParts } from './read-log.ts';
import { linesOf, readLog } from './read-log.ts';

interface JobLogParts extends LogParts {
  access: Access;
  explains: Pick<Stores['explains'], 'attempts'>;
}

/**
 * Returns a page of the log. Throws UNAUTHORIZED unless the key may read workers, as the logs are theirs.
 * JOB_NOT_FOUND; RATE_LIMITED.
 */
export async function readJobLog(
  parts: JobLogParts,
  request: GetJobLogRequest,
  apiKey: string,
  metadata: Metadata,
): Promise<GetJobLogResponse> {
  const { endpointId, jobId, attempt: from, offset } = request;
  const limit = linesOf(request.limit);
  if (from < 0) throw invalid(`attempt is ${from}, but must not be negative`);
  const { accountId } = await parts.access.check(apiKey, { api: 'MANAGEMENT', endpointId });
  const job = await parts.explains.attempts({ endpointId, jobId });
  if (!job) throw jobNotFound(jobId);
  const current = job.attempts.find(({ attempt }) => attempt >= from);
  const isDone = isFinal(job.state);
  const state = STATE_TO_WIRE[job.state];
  if (!current) return { lines: [], attempt: from, offset, more: false, over: isDone, state, missing: '' };
  const { attempt } = current;
  const place = { jobId, attempt, offset: attempt === from ? offset : 0, limit };
  const { page, missing } = await pageOf(current, () =>
    readLog(
      parts,
      { kind: 'worker', id: current.workerId, machineId: current.machineId, accountId, tailBytes: 0, job: place },
      apiKey,
      metadata,
    ),
  );
  const next = job.attempts.find((other) => other.attempt > attempt);
  if (page?.more || !next) {
    const { lines = [], offset: after = place.offset, more = false, over = true } = page ?? {};
    return { lines, attempt, offset: after, more, over: isDone && over && !more, state, missing };
  }
  return { lines: page?.lines ?? [], attempt: next.attempt, offset: 0, more: true, over: false, state, missing };
}

async function pageOf(
  { workerId, machineId }: JobAttempt,
  read: () => Promise<{ job?: JobLogPage | undefined }>,
): Promise<{ page?: JobLogPage | undefined; missing: string }> {
  if (workerId === '' || machineId === '') return { missing: 'Nothing is known of its worker any more.' };
  try {
    const { job: page } = await read();
    return {
      page,
      missing: page?.cut ? 'Only the last part of the log of its worker is kept; earlier lines are missing.' : '',
    };
  } catch (error) {
    if (!(error instanceof DomainError) || (error.reason !== 'NOT_FOUND' && error.reason !== 'UNAVAILABLE'))
      throw error;
    return { missing: error.message };
  }
}
