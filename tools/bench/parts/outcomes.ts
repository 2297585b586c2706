/** Checks in the database that every job of a round has the expected outcome. */
import { INPUT } from '../stack/bench.ts';
import { OUTPUTS } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';

/** Jobs to check, and their expected outcomes. */
interface Expected {
  /** Number of stored jobs. */
  jobs: number;
  /** Least number of completed jobs. Default: all. */
  completed?: number;
  /** Output of each completed job. Default: the output of the agent's workers, which do nothing. */
  output?: unknown;
  /** Only checks jobs that were submitted since this time, a result of `databaseNow`. */
  since?: string;
}

type Db = Pick<Stack, 'sql'>;

/** Returns the time of the database's clock. */
export async function databaseNow({ sql }: Db): Promise<string> {
  const [row] = await sql<{ now: string }[]>`SELECT clock_timestamp()::text AS now`;
  return row!.now;
}

/**
 * Throws unless there are exactly these jobs, each completed once without a retry and with the output. If not all need
 * to be completed, jobs that have not ended yet are accepted too.
 */
export async function checkOutcomes(db: Db, endpointId: string, expected: Expected): Promise<void> {
  const { jobs, completed = jobs, output = OUTPUTS.agent, since = '-infinity' } = expected;
  const [row] = await db.sql<{ jobs: number; completed: number; sound: number; retried: number; open: number }[]>`
    SELECT count(*)::int AS jobs, count(*) FILTER (WHERE j.state = 'COMPLETED')::int AS completed,
      count(*) FILTER (WHERE j.state = 'COMPLETED'
        AND convert_from(o.output, 'UTF8')::jsonb = ${JSON.stringify(output)}::text::jsonb)::int AS sound,
      count(*) FILTER (WHERE j.state = 'COMPLETED' AND j.retries > 0)::int AS retried,
      count(*) FILTER (WHERE j.state IN ('IN_QUEUE', 'IN_PROGRESS'))::int AS open
    FROM job j LEFT JOIN job_output o ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
    WHERE j.endpoint_id = ${endpointId} AND j.submitted_at >= ${since}::text::timestamptz`;
  const kept = row!;
  const isRight =
    kept.jobs === jobs &&
    kept.completed >= completed &&
    kept.sound === kept.completed &&
    kept.retried === 0 &&
    kept.open === jobs - kept.completed;
  if (!isRight)
    throw new Error(`of ${jobs} jobs of which ${completed} should be completed there are ${JSON.stringify(kept)}`);
}

/** Throws unless exactly this many jobs wait, each with its original input and without an attempt. */
export async function checkQueued(
  db: Db,
  endpointId: string,
  { jobs, since }: Pick<Expected, 'jobs' | 'since'>,
): Promise<void> {
  const [row] = await db.sql<{ jobs: number; sound: number }[]>`
    SELECT count(*)::int AS jobs,
      count(*) FILTER (WHERE j.state = 'IN_QUEUE' AND j.attempt = 0
        AND i.input = convert_to(${INPUT}::text, 'UTF8'))::int AS sound
    FROM job j LEFT JOIN job_input i ON i.endpoint_id = j.endpoint_id AND i.job_id = j.id
    WHERE j.endpoint_id = ${endpointId} AND j.submitted_at >= ${since ?? '-infinity'}::text::timestamptz`;
  if (row!.jobs !== jobs || row!.sound !== jobs)
    throw new Error(`of ${jobs} jobs ${row!.jobs} are stored, ${row!.sound} of them as they were sent`);
}
