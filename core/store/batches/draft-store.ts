/** Stores the requests of drafts: batches of one endpoint, before they run and while they are listed. */
import { and, eq, isNull, sql } from '@slipway/drizzle/orm';
import { accountFile } from '@slipway/drizzle/schema/batches/account-file';
import { batch } from '@slipway/drizzle/schema/batches/batch';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Batch, BatchView, ItemState } from '../../domain/batches/batch.ts';
import {
  DRAFT_REQUESTS_MAX,
  ENDPOINT_BATCHES_MAX,
  ENDPOINT_REQUESTS_MAX,
  noDraft,
  tooManyBatches,
  tooManyRequests,
  WINDOW_MS,
} from '../../domain/batches/batch.ts';
import type { FileLimits, FileScope } from '../../domain/batches/file.ts';
import { FILE_SECONDS_MAX, tooManyBytes } from '../../domain/batches/file.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import { afterNow, batchFromRow, countBatches, lockAccount, lockBatch, viewBatches } from './batch-rows.ts';
import type { FilePiece } from './file-rows.ts';
import { addPiece, hasSpace } from './file-rows.ts';

/** A new draft. */
interface NewDraft {
  id: string;
  endpointIds: readonly string[];
  endpointId: string;
  fileId: string;
}

/** Names a batch of an endpoint. */
interface DraftKey {
  scope: FileScope;
  endpointId: string;
  batchId: string;
}

/** Requests to add. */
interface Addition {
  /** Ids of the requests, and the sizes of their inputs, which stand one after the other. */
  requests: readonly { id: string; bytes: number }[];
  /** Returns the encrypted pieces of all inputs, the first at this offset of the draft's file. */
  pieces: (fileId: string, start: number) => FilePiece[];
  bytes: number;
  /** True: removes all earlier requests. */
  replace: boolean;
}

/** A request as its owner sees it. */
export interface ListedItem {
  id: string;
  number: number;
  state: ItemState;
  startedAt: Date | null;
  endedAt: Date | null;
  jobId: string;
  /** Bytes of its result. 0: there is none. */
  resultBytes: number;
}

export class DraftStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores a draft with its first requests, or nothing. Throws INVALID_REQUEST or QUEUE_FULL. */
  async create(
    actor: Actor,
    { fileId, ...made }: NewDraft,
    addition: Addition | undefined,
    limits: FileLimits,
  ): Promise<BatchView> {
    const { accountId, keyId } = actor;
    const row = await this.#database.db.transaction(async (tx) => {
      await lockAccount(tx, accountId);
      const open = await countBatches(tx, and(eq(batch.endpointId, made.endpointId), isNull(batch.endedAt)));
      if (open >= ENDPOINT_BATCHES_MAX) throw tooManyBatches('endpoint', ENDPOINT_BATCHES_MAX);
      await tx.insert(accountFile).values({
        ...{ id: fileId, accountId, keyId, purpose: 'draft', filename: `${made.id}.jsonl`, state: 'READY' },
      });
      const [stored] = await tx
        .insert(batch)
        .values({
          ...{ ...made, endpointIds: [...made.endpointIds], accountId, keyId, fileId, kind: 'ENDPOINT' },
          ...{ state: 'DRAFT', windowMs: WINDOW_MS, expiresAt: afterNow(WINDOW_MS), resultSeconds: FILE_SECONDS_MAX },
        })
        .returning();
      const values = { endpoint_id: { new: made.endpointId } };
      await recordChange(tx, { ...actor, action: 'CreateDraft', subjectId: made.id, fields: ['endpoint_id'], values });
      return addition ? addTo(tx, batchFromRow(stored!), addition, limits) : stored!;
    });
    return this.#view(row);
  }

  /** Adds requests, all or none. `undefined`: there is no such batch. Throws IN_USE, INVALID_REQUEST or QUEUE_FULL. */
  async add({ scope, endpointId, batchId }: DraftKey, addition: Addition, limits: FileLimits) {
    const changed = await this.#database.db.transaction(async (tx) => {
      // Before the batch, as `finalize` does: `addTo` may need it.
      await lockAccount(tx, scope.accountId);
      const current = await lockBatch(tx, scope, batchId, endpointId);
      return current && addTo(tx, current, addition, limits);
    });
    return changed && this.#view(changed);
  }

  /** Removes a request. Returns false if there is none. Throws IN_USE. */
  async removeRequest({ scope, endpointId, batchId }: DraftKey, requestId: string): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const current = await lockBatch(tx, scope, batchId, endpointId);
      if (!current) return false;
      if (current.state !== 'DRAFT') throw noDraft(batchId);
      const removed = await statementOf(tx)<object[]>`
        DELETE FROM batch_item WHERE batch_id = ${batchId} AND custom_id = ${requestId} RETURNING number`;
      if (removed.length === 0) return false;
      await tx.update(batch).set({ total: sql`total - 1` }).where(eq(batch.id, batchId));
      return true;
    });
  }

  /** Starts a draft. A draft that runs already is returned as it is. `undefined`: there is none. Throws QUEUE_FULL. */
  async finalize(actor: Actor, { scope, endpointId, batchId }: DraftKey): Promise<BatchView | undefined> {
    const changed = await this.#database.db.transaction(async (tx) => {
      await lockAccount(tx, scope.accountId);
      const current = await lockBatch(tx, scope, batchId, endpointId);
      if (!current || current.state !== 'DRAFT') return current;
      if (current.total === 0) throw new DomainError('INVALID_REQUEST', 'The batch has no requests: add some first.');
      const [queued] = await statementOf(tx)<{ requests: number }[]>`
        SELECT coalesce(sum(total - completed - failed), 0)::int AS requests FROM batch
        WHERE endpoint_id = ${endpointId} AND ended_at IS NULL AND state <> 'DRAFT'`;
      if (queued!.requests + current.total > ENDPOINT_REQUESTS_MAX)
        throw new DomainError(
          'QUEUE_FULL',
          `${queued!.requests} requests of batches wait at the endpoint, and ${ENDPOINT_REQUESTS_MAX} may. Try again ` +
            'later.',
        );
      const [row] = await tx
        .update(batch)
        .set({
          ...{ state: 'IN_PROGRESS', startedAt: sql`now()` },
          expiresAt: sql`now() + ${batch.windowMs} * interval '1 ms'`,
        })
        .where(eq(batch.id, batchId))
        .returning();
      await recordChange(tx, { ...actor, action: 'FinalizeDraft', subjectId: batchId, fields: [] });
      return row!;
    });
    return changed && this.#view(changed);
  }

  /** Returns requests of a batch in order. */
  async requests(batchId: string, offset: number, limit: number): Promise<ListedItem[]> {
    const rows = await this.#database.sql<(Omit<ListedItem, 'startedAt' | 'endedAt'> & RowTimes)[]>`
      SELECT i.custom_id AS id, i.number, i.state, coalesce(i.job_id, '') AS "jobId",
        round(date_part('epoch', coalesce(i.started_at, j.started_at)) * 1000) AS started,
        round(date_part('epoch', i.ended_at) * 1000) AS ended,
        coalesce((SELECT sum(r.bytes) FROM batch_result r
          WHERE r.batch_id = i.batch_id AND r.side IN ('OUTPUT', 'ERROR') AND r.number = i.number), 0)::bigint
          AS "resultBytes"
      FROM (SELECT * FROM batch_item WHERE batch_id = ${batchId} ORDER BY number OFFSET ${offset} LIMIT ${limit}) AS i
      LEFT JOIN job j ON j.endpoint_id = ANY(ARRAY[i.endpoint_id]) AND j.id = i.job_id ORDER BY i.number`;
    return rows.map(({ started, ended, ...row }) => ({
      ...row,
      startedAt: started === null ? null : new Date(started),
      endedAt: ended === null ? null : new Date(ended),
    }));
  }

  /** Returns the encrypted pieces of the results of some requests, in order. */
  async results(batchId: string, numbers: readonly number[]) {
    return this.#database.sql<{ number: number; piece: number; sealed: Buffer }[]>`
      SELECT number, piece, content_sealed AS sealed FROM batch_result
      WHERE batch_id = ${batchId} AND side IN ('OUTPUT', 'ERROR') AND number = ANY(${numberArray(numbers)}::int[])
      ORDER BY number, piece`;
  }

  async #view(row: Parameters<typeof batchFromRow>[0]): Promise<BatchView> {
    const [view] = await viewBatches(this.#database, [batchFromRow(row)]);
    return view!;
  }
}

/** Instants of a row in milliseconds since 1970. */
interface RowTimes {
  started: number | null;
  ended: number | null;
}

/** Adds requests to a locked draft, and returns its row. Throws IN_USE, INVALID_REQUEST or QUEUE_FULL. */
async function addTo(
  tx: Transaction,
  { id: batchId, accountId, fileId, state }: Batch,
  { replace, requests, bytes, pieces }: Addition,
  limits: FileLimits,
) {
  if (state !== 'DRAFT') throw noDraft(batchId);
  const statement = statementOf(tx);
  if (replace) await clear(tx, batchId, fileId);
  const [last] = await statement<{ size: number; number: number; items: number }[]>`
    SELECT (SELECT bytes FROM account_file WHERE id = ${fileId}) AS size, coalesce(max(number), 0) AS number,
      count(*)::int AS items FROM batch_item WHERE batch_id = ${batchId}`;
  const total = last!.items + requests.length;
  if (total > DRAFT_REQUESTS_MAX) throw tooManyRequests(total);
  if (!(await hasSpace(tx, accountId, bytes, limits))) throw tooManyBytes(limits);
  const size = Number(last!.size);
  for (const piece of pieces(fileId, size)) await addPiece(tx, fileId, piece);
  await insertRequests(tx, batchId, requests, { number: last!.number, start: size });
  const [row] = await tx.update(batch).set({ total }).where(eq(batch.id, batchId)).returning();
  return row!;
}

async function clear(tx: Transaction, batchId: string, fileId: string): Promise<void> {
  const statement = statementOf(tx);
  await statement`DELETE FROM batch_item WHERE batch_id = ${batchId}`;
  await statement`DELETE FROM file_piece WHERE file_id = ${fileId}`;
  await statement`UPDATE account_file SET bytes = 0 WHERE id = ${fileId}`;
}

async function insertRequests(
  tx: Transaction,
  batchId: string,
  requests: readonly { id: string; bytes: number }[],
  first: { number: number; start: number },
): Promise<void> {
  let { start } = first;
  const starts = requests.map(({ bytes }) => {
    start += bytes;
    return start - bytes;
  });
  await statementOf(tx)`
    INSERT INTO batch_item (batch_id, number, custom_id, start, bytes)
    SELECT ${batchId}, ${first.number}::int + g.number, g.id, g.start, g.bytes
    FROM unnest(${textArray(requests.map(({ id }) => id))}::text[], ${numberArray(starts)}::bigint[],
      ${numberArray(requests.map(({ bytes }) => bytes))}::int[]) WITH ORDINALITY AS g(id, start, bytes, number)`;
}
