/**
 * The public job record (docs/reference/api.md#job-record). It is assembled by hand, so that `output` is sent byte for
 * byte as the handler sent it. Times are whole milliseconds and `error` is always a string, as the Go client expects.
 */
import { isUtf8 } from 'node:buffer';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { CoreError } from '@slipway/proto/wire/reason';

/** Public states (docs/reference/api.md#states). */
export type PublicStatus = 'IN_QUEUE' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';

/** Returns the public name of a state. */
export function publicStatus(state: JobState): PublicStatus {
  switch (state) {
    case JobState.IN_QUEUE:
      return 'IN_QUEUE';
    case JobState.IN_PROGRESS:
      return 'IN_PROGRESS';
    case JobState.COMPLETED:
      return 'COMPLETED';
    case JobState.FAILED:
      return 'FAILED';
    case JobState.CANCELLED:
      return 'CANCELLED';
    case JobState.TIMED_OUT:
      return 'TIMED_OUT';
    case JobState.UNSPECIFIED:
      throw new CoreError('INTERNAL', 'core sent a job without a state');
  }
}

/** Returns `{id, status}`: the response of run, cancel, retry, and of a runsync whose wait ended first. */
export function presentReceipt(id: string, status: PublicStatus): string {
  return `{"id":${JSON.stringify(id)},"status":"${status}"}`;
}

/**
 * Returns the response of /run. A job that a worker claimed during the submission is still reported as queued
 * (docs/reference/api.md#submit).
 */
export function presentAccepted(job: Job): string {
  return presentReceipt(job.id, job.state === JobState.IN_PROGRESS ? 'IN_QUEUE' : publicStatus(job.state));
}

/**
 * Outputs up to this many bytes become part of one text: one write to the socket instead of a gathered one, which costs
 * twice.
 */
const SHORT_OUTPUT_BYTES_MAX = 16 * 1024;

/** Returns the full record as JSON text. Valid UTF-8 keeps its bytes in a string. */
export function presentJob(job: Job): string | Buffer {
  const head = recordHead(job);
  if (job.output === undefined) return `${head}}`;
  if (job.output.length <= SHORT_OUTPUT_BYTES_MAX && isUtf8(job.output))
    return `${head},"output":${job.output.toString('utf8')}}`;
  return Buffer.concat([Buffer.from(`${head},"output":`), job.output, CLOSE]);
}

/** Returns the full record without output and with its time, as one item of a list. */
export function presentListedJob(job: Job): string {
  return `${recordHead(job)}${job.submitTime ? `,"submittedAt":"${job.submitTime.toISOString()}"` : ''}}`;
}

const CLOSE = Buffer.from('}');

function recordHead(job: Job): string {
  let text = `{"id":${JSON.stringify(job.id)},"status":"${publicStatus(job.state)}"`;
  if (job.delayMs !== undefined) text += `,"delayTime":${job.delayMs}`;
  if (job.executionMs !== undefined) text += `,"executionTime":${job.executionMs}`;
  if (job.workerId !== undefined && job.workerId !== '') text += `,"workerId":${JSON.stringify(job.workerId)}`;
  if (job.retries > 0) text += `,"retries":${job.retries}`;
  if (job.error !== undefined) text += `,"error":${JSON.stringify(job.error)}`;
  if (job.metadata !== undefined) text += `,"metadata":${JSON.stringify(job.metadata.pairs)}`;
  return text;
}
