/** Stores how batches advance. Every statement is idempotent and may run on any replica. */
import { and, eq, sql } from '@slipway/drizzle/orm';
import { accountFile } from '@slipway/drizzle/schema/batches/account-file';
import { batch } from '@slipway/drizzle/schema/batches/batch';
import type { Batch, BatchFault, BatchState } from '../../domain/batches/batch.ts';
import { FAULTS_MAX } from '../../domain/batches/batch.ts';
import type { SlotUse } from '../../domain/batches/slot-use.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { DeletedJobs } from '../jobs/deletion-rows.ts';
import { deletedJobs, removeJobs } from '../jobs/deletion-rows.ts';
import type { NewJob, StoredJob } from '../jobs/inserted-rows.ts';
import { insertJobs } from '../jobs/inserted-rows.ts';
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction, statementOf } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import type { ItemResult, NewItem } from './batch-item-rows.ts';
import { insertItems, insertPieces } from './batch-item-rows.ts';
import { batchFromRow } from './batch-rows.ts';
import { readSlotUse } from './slot-use-rows.ts';

/** A step of a validation. */
interface ValidationStep {
  items: readonly NewItem[];
  faults: readonly BatchFault[];
  readBytes: number;
  readLines: number;
  model: string;
}

/** Requests of a batch that have not ended. */
export interface OpenItems {
  pending: number;
  submitted: number;
  /** Number of submitted requests that wait in a queue. */
  queued: number;
}

/** A job of a batch that has ended or is gone. */
export interface EndedItem {
  number: number;
  customId: string;
  endpointId: string;
  jobId: string;
  /** Null: the job does not exist any more. */
  state: JobState | null;
  outputBytes: number;
  startedMs: number | null;
  finishedMs: number | null;
}

/** Numbers of requests that ended. */
interface EndedCounts {
  completed: number;
  failed: number;
}

/** Most batches of one pass. */
const ACTIVE_MAX = 5_000;
/** Milliseconds for which a job is kept after its result has been taken over. */
const JOB_KEPT_MS = 30 * 60_000;

export class BatchWorkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the ids of batches that have something to do: the oldest of each account before the second ones. */
  async active(): Promise<string[]> {
    const rows = await this.#database.sql<{ id: string }[]>`
      SELECT id FROM (
        SELECT id, created_at, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS place FROM batch
        WHERE ended_at IS NULL AND (state <> 'DRAFT' OR expires_at < now())) AS b
      ORDER BY place, created_at LIMIT ${ACTIVE_MAX}`;
    return rows.map(({ id }) => id);
  }

  /** Returns a batch, and whether its time is over. */
  async find(id: string): Promise<{ batch: Batch; isOver: boolean } | undefined> {
    const [row] = await this.#database.db
      .select({ row: batch, isOver: sql<boolean>`${batch.expiresAt} <= now()` })
      .from(batch)
      .where(eq(batch.id, id));
    return row && { batch: batchFromRow(row.row), isOver: row.isOver };
  }

  /** Changes the state of a batch, if it is in the state `from`. */
  async move(id: string, from: BatchState, to: BatchState): Promise<void> {
    const started = to === 'IN_PROGRESS' ? { startedAt: sql`now()` } : {};
    await this.#database.db
      .update(batch)
      .set({ state: to, stalled: '', ...started })
      .where(and(eq(batch.id, id), eq(batch.state, from)));
  }

  /** Records why a batch does not advance. Empty: it does. */
  async stall(id: string, reason: string): Promise<void> {
    await this.#database.db.update(batch).set({ stalled: reason }).where(eq(batch.id, id));
  }

  /**
   * Stores the requests of some lines once, with their faults: those of the step, and `duplicate` of each line whose
   * name is taken. Does nothing if the batch has moved on.
   */
  async addItems(
    id: string,
    fromBytes: number,
    step: ValidationStep,
    duplicate: (line: number) => BatchFault,
  ): Promise<void> {
    await inTransaction(this.#database.sql, async (tx) => {
      const { items, readBytes, readLines, model } = step;
      const moved = await tx`
        UPDATE batch SET read_bytes = ${readBytes}, read_lines = ${readLines}, model = ${model},
          total = total + ${items.length}::int
        WHERE id = ${id} AND state = 'VALIDATING' AND read_bytes = ${fromBytes}`;
      if (moved.count === 0) return;
      const stored = items.length === 0 ? new Set<number>() : await insertItems(tx, id, items);
      const taken = items.filter(({ number }) => !stored.has(number)).map(({ number }) => duplicate(number));
      await addFaults(tx, id, [...step.faults, ...taken.slice(0, FAULTS_MAX)]);
    });
  }

  /** Adds faults to a batch that is being validated. */
  async addFaults(id: string, faults: readonly BatchFault[]): Promise<void> {
    await addFaults(this.#database.sql, id, faults);
  }

  /** Counts the requests that have not ended. Of fifty thousand, only current jobs are read. */
  async open(id: string): Promise<OpenItems> {
    const [row] = await this.#database.sql<OpenItems[]>`
      SELECT b.total - b.completed - b.failed - s.submitted AS pending, s.submitted, s.queued
      FROM batch b, LATERAL (
        SELECT count(*)::int AS submitted, (count(*) FILTER (WHERE j.state = 'IN_QUEUE'))::int AS queued
        FROM batch_item i LEFT JOIN job j ON j.endpoint_id = ANY(ARRAY[i.endpoint_id]) AND j.id = i.job_id
        WHERE i.batch_id = b.id AND i.state = 'SUBMITTED') s
      WHERE b.id = ${id}`;
    return row ?? { pending: 0, submitted: 0, queued: 0 };
  }

  /** Returns the use of the slots of these endpoints, by id. */
  async slotUse(endpointIds: readonly string[]): Promise<Map<string, SlotUse>> {
    return readSlotUse(this.#database.sql, endpointIds);
  }

  /** Returns the next requests that are no job yet, in order. */
  async pending(id: string, limit: number): Promise<NewItem[]> {
    return this.#database.sql<NewItem[]>`
      SELECT number, custom_id AS "customId", start, bytes FROM batch_item
      WHERE batch_id = ${id} AND state = 'PENDING' ORDER BY number LIMIT ${limit}`;
  }

  /** Submits jobs of requests that are none yet, with their rows, in one transaction. Returns the stored jobs. */
  async submit(id: string, jobs: readonly { number: number; job: NewJob }[], claimId: string): Promise<StoredJob[]> {
    return inTransaction(this.#database.sql, async (tx) => {
      const [running] = await tx`SELECT FROM batch WHERE id = ${id} AND state = 'IN_PROGRESS' FOR UPDATE`;
      if (!running) return [];
      const taken = await tx<{ number: number }[]>`
        UPDATE batch_item i SET state = 'SUBMITTED', endpoint_id = g.endpoint_id, job_id = g.job_id
        FROM unnest(${numberArray(jobs.map(({ number }) => number))}::int[],
          ${textArray(jobs.map(({ job }) => job.endpointId))}::text[],
          ${textArray(jobs.map(({ job }) => job.id))}::text[]) AS g(number, endpoint_id, job_id)
        WHERE i.batch_id = ${id} AND i.number = g.number AND i.state = 'PENDING' RETURNING i.number`;
      const numbers = new Set(taken.map(({ number }) => number));
      const placements = jobs.filter(({ number }) => numbers.has(number)).map(({ job }) => ({ job, slot: undefined }));
      return placements.length === 0 ? [] : insertJobs(tx, placements, claimId);
    });
  }

  /**
   * Deletes up to `limit` jobs of a batch that wait at an endpoint and were never begun, the last ones first. Their
   * requests are PENDING again. Returns the jobs.
   */
  async withdraw(id: string, endpointId: string, limit: number): Promise<DeletedJobs[]> {
    return inTransaction(this.#database.sql, async (tx) => {
      const [running] = await tx`SELECT FROM batch WHERE id = ${id} AND state = 'IN_PROGRESS' FOR UPDATE`;
      if (!running) return [];
      const rows = await removeJobs(
        tx,
        tx`
        SELECT j.endpoint_id, j.id FROM batch_item i
        JOIN job j ON j.endpoint_id = ANY(ARRAY[i.endpoint_id]) AND j.id = i.job_id
        WHERE i.batch_id = ${id} AND i.state = 'SUBMITTED' AND i.endpoint_id = ${endpointId} AND j.state = 'IN_QUEUE'
          AND j.attempt = 0 AND j.expires_at > now()
        ORDER BY i.number DESC LIMIT ${limit}::int FOR UPDATE OF j SKIP LOCKED`,
      );
      const gone = deletedJobs(rows);
      await tx`
        UPDATE batch_item SET state = 'PENDING', endpoint_id = NULL, job_id = NULL
        WHERE batch_id = ${id} AND state = 'SUBMITTED' AND endpoint_id = ${endpointId}
          AND job_id = ANY(${textArray(gone.map(({ jobId }) => jobId))}::text[])`;
      return gone;
    });
  }

  /** Returns jobs of a batch that have not ended. */
  async running(id: string, limit: number): Promise<{ endpointId: string; jobId: string }[]> {
    return this.#database.sql<{ endpointId: string; jobId: string }[]>`
      SELECT i.endpoint_id AS "endpointId", i.job_id AS "jobId" FROM batch_item i
      JOIN job j ON j.endpoint_id = ANY(ARRAY[i.endpoint_id]) AND j.id = i.job_id
      WHERE i.batch_id = ${id} AND i.state = 'SUBMITTED' AND j.finished_at IS NULL AND j.expires_at > now()
      ORDER BY i.number LIMIT ${limit}`;
  }

  /** Returns requests whose jobs have ended or are gone. */
  async ended(id: string, limit: number): Promise<EndedItem[]> {
    return this.#database.sql<EndedItem[]>`
      SELECT i.number, i.custom_id AS "customId", i.endpoint_id AS "endpointId", i.job_id AS "jobId", j.state,
        coalesce(octet_length(o.output), 0) AS "outputBytes",
        round(date_part('epoch', j.started_at) * 1000) AS "startedMs",
        round(date_part('epoch', j.finished_at) * 1000) AS "finishedMs"
      FROM batch_item i
      LEFT JOIN job j ON j.endpoint_id = ANY(ARRAY[i.endpoint_id]) AND j.id = i.job_id AND j.expires_at > now()
      LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
      WHERE i.batch_id = ${id} AND i.state = 'SUBMITTED' AND (j.id IS NULL OR j.finished_at IS NOT NULL)
      ORDER BY i.number LIMIT ${limit}`;
  }

  /**
   * Records results of requests that are in the state `from`; the others keep theirs. Returns the numbers of new ones.
   */
  async record(id: string, from: 'PENDING' | 'SUBMITTED', results: readonly ItemResult[]): Promise<EndedCounts> {
    if (results.length === 0) return { completed: 0, failed: 0 };
    return inTransaction(this.#database.sql, async (tx) => {
      // Before its requests, as all steps do: after a failover two replicas may take a step of one batch.
      await tx`SELECT FROM batch WHERE id = ${id} FOR NO KEY UPDATE`;
      const changed = await tx<{ number: number; endpoint_id: string | null; job_id: string | null }[]>`
        UPDATE batch_item i SET state = g.state, ended_at = now(),
          started_at = CASE WHEN g.started_ms IS NOT NULL THEN to_timestamp(g.started_ms / 1000.0) END
        FROM unnest(${numberArray(results.map(({ number }) => number))}::int[],
          ${textArray(results.map(({ state }) => state))}::text[],
          ${numberArray(results.map(({ startedMs }) => startedMs))}::bigint[]) AS g(number, state, started_ms)
        WHERE i.batch_id = ${id} AND i.number = g.number AND i.state = ${from}
        RETURNING i.number, i.endpoint_id, i.job_id`;
      const numbers = new Set(changed.map(({ number }) => number));
      const fresh = results.filter(({ number }) => numbers.has(number));
      if (fresh.length === 0) return { completed: 0, failed: 0 };
      const bytes = await insertPieces(tx, id, fresh);
      const completed = fresh.filter(({ state }) => state === 'COMPLETED').length;
      const failed = fresh.length - completed;
      await tx`UPDATE batch SET completed = completed + ${completed}::int,
        failed = failed + ${failed}::int, result_bytes = result_bytes + ${bytes}::bigint
        WHERE id = ${id}`;
      await tx`UPDATE job j SET expires_at = least(j.expires_at, now() + ${JOB_KEPT_MS}::int * interval '1 ms')
        FROM unnest(${textArray(changed.map((row) => row.endpoint_id))}::text[],
          ${textArray(changed.map((row) => row.job_id))}::text[]) AS g(endpoint_id, id)
        WHERE j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id`;
      return { completed, failed };
    });
  }

  /** Ends a batch that has no open requests, and makes the files of its results. Idempotent. */
  async end(
    id: string,
    from: BatchState,
    to: BatchState,
    fileIds: { OUTPUT: string; ERROR: string },
  ): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const [row] = await tx
        .select()
        .from(batch)
        .where(and(eq(batch.id, id), eq(batch.state, from)))
        .for('update');
      if (!row) return false;
      const statement = statementOf(tx);
      const [open] = await statement<object[]>`
        SELECT FROM batch_item WHERE batch_id = ${id} AND state IN ('PENDING', 'SUBMITTED') LIMIT 1`;
      if (open && to !== 'FAILED') return false;
      const sides = await statement<{ side: 'OUTPUT' | 'ERROR'; bytes: number }[]>`
        SELECT side, sum(bytes)::bigint AS bytes FROM batch_result WHERE batch_id = ${id} GROUP BY side`;
      for (const { side, bytes } of row.kind === 'OPENAI' ? sides : []) {
        await tx.insert(accountFile).values({
          ...{ id: fileIds[side], accountId: row.accountId, keyId: row.keyId, purpose: 'batch_output' },
          ...{ filename: `${id}_${side.toLowerCase()}.jsonl`, bytes: Number(bytes), state: 'READY', batchId: id, side },
          expiresAt: sql`now() + ${row.resultSeconds}::int * interval '1 s'`,
        });
      }
      await tx.update(batch).set({ state: to, stalled: '', endedAt: sql`now()` }).where(eq(batch.id, id));
      return true;
    });
  }
}

async function addFaults(sql: Sql, id: string, faults: readonly BatchFault[]): Promise<void> {
  if (faults.length === 0) return;
  await sql`
    UPDATE batch SET faults = faults || ${JSON.stringify(faults)}::text::jsonb
    WHERE id = ${id} AND state = 'VALIDATING'`;
}
