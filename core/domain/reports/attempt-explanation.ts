/** Explains the attempts of a job, limited to what the caller may see. Pure. */
import type { AttemptExplanation, ExplainedJob, LostAttempt } from './explanation.ts';

/** A worker, as far as it is still stored. */
interface KeptWorker {
  id: string;
  alive: boolean;
  exitCode: number | null;
  reason: string;
}

/**
 * Returns the attempts, latest first: the recorded lost ones and the last one, with its worker as far as it is stored.
 */
export function explainAttempts(
  job: ExplainedJob,
  lost: readonly LostAttempt[],
  workers: readonly KeptWorker[],
  sight: { operator: boolean; workers: boolean },
): AttemptExplanation[] {
  const kept = new Map(workers.map((worker) => [worker.id, worker]));
  const earlier = lost.map(({ attempt, workerId, machine, cause, exitCode, reason, startedAt, lostAt }) => ({
    attempt,
    workerId,
    exitCode,
    startedAt,
    lostAt,
    endedAt: lostAt,
    machine: sight.operator ? machine : '',
    workerAlive: exitCode === null && reason === '' && (kept.get(workerId)?.alive ?? false),
    // The last log lines are in `reason`, for callers who may read them.
    cause: sight.workers && !reason.startsWith(cause) ? cause : firstLine(cause),
    reason: sight.workers ? reason : '',
  }));
  const last =
    kept.get(job.workerId) ?? (job.startedAt && { id: job.workerId, alive: false, exitCode: null, reason: '' });
  if (!last || lost[0]?.attempt === job.attempt) return earlier;
  const { id, alive, exitCode, reason } = last;
  const latest = {
    attempt: job.attempt,
    workerId: id,
    workerAlive: alive,
    exitCode,
    reason: sight.workers ? reason : '',
  };
  return [
    { ...latest, cause: '', machine: '', lostAt: undefined, startedAt: job.startedAt, endedAt: job.finishedAt },
    ...earlier,
  ];
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
