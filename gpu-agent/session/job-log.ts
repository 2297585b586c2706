/**
 * Reads the lines of one attempt from the log of its worker, or all lines of a worker or a pod. The worker or pod may
 * have ended.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { JobLogPage, JobLogPlace } from '@slipway/proto/gen/slipway/v1/job_log';
import type { JobSpans } from '../attempts/job-spans.ts';
import type { ArchivedLog, LogArchive } from '../launch/log-archive.ts';
import type { PodRegistry } from '../workloads/pods/pod-registry.ts';
import type { AttributedLog } from '../workloads/workers/job-lines.ts';
import { jobLines } from '../workloads/workers/job-lines.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';

/** Sources of the lines. */
interface JobLogParts {
  pool: WorkerPool;
  pods: PodRegistry;
  archive: LogArchive;
  spans: JobSpans;
  clock: Clock;
}

/**
 * Returns a page of lines; `undefined` if nothing is kept of the worker, or if no list of core has named the pod yet.
 */
export async function readJobLog(
  { pool, pods, archive, spans, clock }: JobLogParts,
  id: string,
  place: JobLogPlace,
): Promise<JobLogPage | undefined> {
  const pod = pods.get(id);
  const log = (pool.get(id) ?? pod)?.log;
  // A worker or pod that has written nothing yet may have a log of an earlier run of the agent.
  const kept = !log || log.size === 0 ? await archive.attributed(id) : undefined;
  const nowMs = pod?.hasEnded ? Infinity : clock.monotonicMs();
  if (!kept) return log && jobLines({ ...log.kept(), spans: spans.of(id) }, id, place, nowMs);
  // A worker whose log was archived has ended; a pod may still run.
  if (kept.owner === id) return pod && jobLines({ ...kept, spans: [] }, id, place, nowMs);
  return jobLines(kept as AttributedLog & ArchivedLog, id, place, Infinity);
}
