/** Cells of a job that every list of jobs has. */
import type { JobRow } from '../../../../views-of-jobs.ts';
import { errorText } from '../../lib/error-text.ts';
import { recently, span } from '../../lib/format.ts';

/** Most characters of an error in a row. */
const ERROR_MAX = 120;

/** Shows when a job was submitted, how long it waited and how long it ran. `nowMs`: end of what is not over. */
export function JobTimes({ job, nowMs }: { job: JobRow; nowMs: number }) {
  const submittedMs = Date.parse(job.submittedAt);
  const soFar = (sinceMs: number): string => `${span(Math.max(0, nowMs - sinceMs))}\u00A0…`;
  return (
    <>
      <td>{recently(submittedMs)}</td>
      <td className="right number">
        {job.delayTime === undefined && job.status === 'IN_QUEUE' ? soFar(submittedMs) : span(job.delayTime)}
      </td>
      <td className="right number">
        {job.status === 'IN_PROGRESS' ? soFar(submittedMs + (job.delayTime ?? 0)) : span(job.executionTime)}
      </td>
    </>
  );
}

/** Shows the begin of a job's error, and all of it as a hint. */
export function JobError({ job }: { job: JobRow }) {
  const error = job.error === undefined ? '' : errorText(job.error).message;
  return (
    <td className="error" title={error}>
      {error.slice(0, ERROR_MAX)}
    </td>
  );
}
