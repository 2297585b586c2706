/** What became of a job's attempts, with no more than whoever asks may see. Pure. */
import type { AttemptExplanation, ExplainedJob, LostAttempt } from './explanation.ts';

/** A worker as far as it is kept. */
interface KeptWorker {
  id: string;
  alive: boolean;
  exitCode: number | null;
  reason: string;
}

/** The latest first: what is remembered of lost ones, and the last one, with as much of its worker as is kept. */
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
    // Last lines stand in `reason`, for those who may read them.
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
