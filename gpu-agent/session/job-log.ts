/** Reads the lines of one attempt from the log of its worker, which may have ended. */
import type { JobLogPage, JobLogPlace } from '../../proto/gen/slipway/v1/job_log.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { JobSpans } from '../attempts/job-spans.ts';
import type { LogArchive } from '../launch/log-archive.ts';
import { jobLines } from '../units/workers/job-lines.ts';
import type { AttributedLog } from '../units/workers/job-lines.ts';
import type { WorkerPool } from '../units/workers/worker-pool.ts';

/** Where it looks. */
export interface JobLogParts {
  pool: WorkerPool;
  archive: LogArchive;
  spans: JobSpans;
  clock: Clock;
}

/** Undefined: nothing is kept of the worker. */
export async function readJobLog({ pool, archive, spans, clock }: JobLogParts, workerId: string, place: JobLogPlace): Promise<JobLogPage | undefined> {
  const log = pool.get(workerId)?.log;
  // One that has written nothing yet may have a log of an earlier run of the agent.
  const kept = !log || log.size === 0 ? await archive.attributed(workerId) : undefined;
  if (kept) return jobLines(kept as AttributedLog, workerId, place, Infinity);
  return log && jobLines({ ...log.kept(), spans: spans.of(workerId) }, workerId, place, clock.monotonicMs());
}
