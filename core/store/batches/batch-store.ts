/** Stores batches, as their owners make, read and cancel them. */
import { and, desc, eq, isNull, sql } from '@slipway/drizzle/orm';
import { accountFile } from '@slipway/drizzle/schema/batches/account-file';
import { batch } from '@slipway/drizzle/schema/batches/batch';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Batch, BatchView } from '../../domain/batches/batch.ts';
import { ACCOUNT_BATCHES_MAX, tooManyBatches, WINDOW_MS } from '../../domain/batches/batch.ts';
import type { FileScope } from '../../domain/batches/file.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database } from '../sql/database.ts';
import {
  afterNow,
  batchFromRow,
  countBatches,
  lockAccount,
  lockBatch,
  ownBatch,
  viewBatches,
  visibleBatches,
} from './batch-rows.ts';

/** A new batch of a file. */
interface NewBatch {
  id: string;
  endpointIds: readonly string[];
  fileId: string;
  route: string;
  metadata: Record<string, string>;
  resultSeconds: number;
}

/** Which batches to list. */
interface BatchListRequest {
  /** Empty: batches of files. */
  endpointId: string;
  after: string;
  limit: number;
}

export class BatchStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores a batch of a file, to be validated. `undefined`: there is no such file. Throws QUEUE_FULL. */
  async create(actor: Actor, scope: FileScope, made: NewBatch): Promise<BatchView | undefined> {
    const row = await this.#database.db.transaction(async (tx) => {
      const { accountId, keyId } = actor;
      await lockAccount(tx, accountId);
      const mine = scope.onlyKeyId === '' ? undefined : eq(accountFile.keyId, scope.onlyKeyId);
      // Locked against deletion.
      const [file] = await tx
        .select({ id: accountFile.id })
        .from(accountFile)
        .where(
          and(
            eq(accountFile.id, made.fileId),
            eq(accountFile.accountId, accountId),
            mine,
            eq(accountFile.state, 'READY'),
            eq(accountFile.purpose, 'batch'),
          ),
        )
        .for('share');
      if (!file) return undefined;
      const open = await countBatches(
        tx,
        and(eq(batch.accountId, accountId), eq(batch.kind, 'OPENAI'), isNull(batch.endedAt)),
      );
      if (open >= ACCOUNT_BATCHES_MAX) throw tooManyBatches('account', ACCOUNT_BATCHES_MAX);
      const [stored] = await tx
        .insert(batch)
        .values({
          ...{ ...made, endpointIds: [...made.endpointIds], accountId, keyId },
          ...{ kind: 'OPENAI', state: 'VALIDATING', windowMs: WINDOW_MS, expiresAt: afterNow(WINDOW_MS) },
        })
        .returning();
      const fields = ['input_file_id', 'endpoint', 'completion_window'];
      const values = {
        input_file_id: { new: made.fileId },
        endpoint: { new: made.route },
        completion_window: { new: WINDOW_MS },
      };
      await recordChange(tx, { ...actor, action: 'CreateBatch', subjectId: made.id, fields, values });
      return stored;
    });
    return row && (await this.#view(row));
  }

  /** Returns a batch of this endpoint. Empty endpoint: of a file. */
  async get(scope: FileScope, id: string, endpointId: string): Promise<BatchView | undefined> {
    const [row] = await this.#database.db
      .select()
      .from(batch)
      .where(ownBatch(scope, id, endpointId));
    return row && this.#view(row);
  }

  /** Returns a page of batches, newest first, and whether there are more. `undefined`: there is no batch `after`. */
  async list(
    scope: FileScope,
    { endpointId, after, limit }: BatchListRequest,
  ): Promise<{ batches: BatchView[]; more: boolean } | undefined> {
    const { db } = this.#database;
    if (after !== '' && !(await this.get(scope, after, endpointId))) return undefined;
    const cursor = sql`(SELECT c.created_at, c.id FROM ${batch} c WHERE c.id = ${after})`;
    const behind = after === '' ? undefined : sql`(${batch.createdAt}, ${batch.id}) < ${cursor}`;
    const rows = await db
      .select()
      .from(batch)
      .where(and(visibleBatches(scope), eq(batch.endpointId, endpointId), behind))
      .orderBy(desc(batch.createdAt), desc(batch.id))
      .limit(limit + 1);
    const batches = await viewBatches(this.#database, rows.slice(0, limit).map(batchFromRow));
    return { batches, more: rows.length > limit };
  }

  /** Cancels a batch that has not ended. `undefined`: there is none. */
  async cancel(actor: Actor, scope: FileScope, id: string, endpointId: string): Promise<BatchView | undefined> {
    const found = await this.#database.db.transaction(async (tx) => {
      const current = await lockBatch(tx, scope, id, endpointId);
      if (!current) return undefined;
      if (!['DRAFT', 'VALIDATING', 'IN_PROGRESS'].includes(current.state)) return current;
      const [row] = await tx
        .update(batch)
        .set({ state: 'CANCELLING', cancellingAt: sql`now()`, stalled: '' })
        .where(eq(batch.id, id))
        .returning();
      await recordChange(tx, { ...actor, action: 'CancelBatch', subjectId: id, fields: [] });
      return batchFromRow(row!);
    });
    return found && this.#view(found);
  }

  async #view(row: Batch | typeof batch.$inferSelect): Promise<BatchView> {
    const [view] = await viewBatches(this.#database, [batchFromRow(row)]);
    return view!;
  }
}
