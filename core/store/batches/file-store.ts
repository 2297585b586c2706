/** Stores the files of accounts. Their content is sealed before it gets here. */
import { and, asc, desc, eq, sql } from '@slipway/drizzle/orm';
import { account } from '@slipway/drizzle/schema/account';
import { accountFile } from '@slipway/drizzle/schema/batches/account-file';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { AccountFile, FileLimits, FileScope } from '../../domain/batches/file.ts';
import { FILE_BYTES_MAX, FILE_READ_BYTES, tooManyBytes, tooManyFiles } from '../../domain/batches/file.ts';
import { createdValues } from '../../domain/resources/release-values.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import type { FilePiece } from './file-rows.ts';
import { addPiece, hasSpace, usedBytes } from './file-rows.ts';

/** A new file. */
interface NewFile {
  id: string;
  purpose: string;
  filename: string;
  seconds: number;
}

/** An encrypted piece of a result. */
interface ResultPiece {
  number: number;
  piece: number;
  bytes: number;
  sealed: Buffer;
}

/** A file with the place of its content. */
export interface StoredFile extends AccountFile {
  /** The batch whose results it lists. Null: it has its own pieces. */
  batchId: string | null;
  side: string | null;
}

/** Which files to list. */
interface FileListRequest {
  /** Empty: from the beginning. */
  after: string;
  limit: number;
  ascending: boolean;
  /** Empty: all but drafts. */
  purpose: string;
}

/** Result of a deletion: IN_USE if a batch that has not ended reads the file. */
type FileRemoval = 'REMOVED' | 'NOT_FOUND' | 'IN_USE';

const SHOWN = {
  id: accountFile.id,
  purpose: accountFile.purpose,
  filename: accountFile.filename,
  bytes: accountFile.bytes,
  createdAt: accountFile.createdAt,
  expiresAt: accountFile.expiresAt,
  batchId: accountFile.batchId,
  side: accountFile.side,
};
/** Most pieces of results in one part of a file. */
const RESULTS_READ_MAX = 2_000;

export class FileStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Begins an upload. Throws QUEUE_FULL if the account has as many files as it may. */
  async create(actor: Actor, file: NewFile, limits: FileLimits): Promise<AccountFile> {
    return this.#database.db.transaction(async (tx) => {
      // Two creations at once must not both be the last one.
      await tx.select({ id: account.id }).from(account).where(eq(account.id, actor.accountId)).for('no key update');
      const [count] = await statementOf(tx)<{ files: number }[]>`
        SELECT count(*)::int AS files FROM account_file
        WHERE account_id = ${actor.accountId} AND state <> 'DELETED' AND batch_id IS NULL AND purpose <> 'draft'`;
      if (count!.files >= limits.files) throw tooManyFiles(limits);
      if ((await usedBytes(statementOf(tx), actor.accountId)) >= limits.bytes) throw tooManyBytes(limits);
      const { id, purpose, filename, seconds } = file;
      const [made] = await tx
        .insert(accountFile)
        .values({
          ...{ id, purpose, filename, accountId: actor.accountId, keyId: actor.keyId, state: 'UPLOADING' },
          expiresAt: sql`now() + ${seconds}::int * interval '1 s'`,
        })
        .returning(SHOWN);
      return made!;
    });
  }

  /**
   * Adds a piece at the end of an upload and returns the size afterwards. Idempotent. Returns `undefined` if there is
   * no such upload. Throws INVALID_REQUEST or QUEUE_FULL.
   */
  async append(
    { accountId, onlyKeyId }: FileScope,
    id: string,
    { start, bytes, sealed }: FilePiece,
    limits: FileLimits,
  ): Promise<number | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      const [file] = await statement<{ bytes: number }[]>`
        SELECT bytes FROM account_file WHERE id = ${id} AND account_id = ${accountId} AND state = 'UPLOADING'
          AND (${onlyKeyId} = '' OR key_id = ${onlyKeyId}) FOR UPDATE`;
      if (!file) return undefined;
      const size = Number(file.bytes);
      if (start + bytes <= size) {
        const [same] = await statement<object[]>`
          SELECT FROM file_piece WHERE file_id = ${id} AND start = ${start}::bigint AND bytes = ${bytes}::int`;
        if (same) return size;
      }
      if (start !== size) throw invalid(`start is ${start}, but the file has ${size} bytes so far`);
      if (size + bytes > FILE_BYTES_MAX) throw invalid(`the file has more than ${FILE_BYTES_MAX} bytes`);
      if (!(await hasSpace(tx, accountId, bytes, limits))) throw tooManyBytes(limits);
      await addPiece(tx, id, { start, bytes, sealed });
      return start + bytes;
    });
  }

  /** Ends an upload; `seconds`: its time from now. Idempotent. Returns `undefined` if there is no such file. */
  async finish(
    actor: Actor,
    scope: FileScope,
    id: string,
    seconds: number | undefined,
  ): Promise<AccountFile | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [file] = await tx
        .select({ ...SHOWN, state: accountFile.state })
        .from(accountFile)
        .where(and(own(scope, id), sql`${accountFile.state} <> 'DELETED'`))
        .for('update');
      if (!file || file.state === 'READY') return file;
      const expiry = seconds === undefined ? {} : { expiresAt: sql`now() + ${seconds}::int * interval '1 s'` };
      const [ready] = await tx
        .update(accountFile)
        .set({ state: 'READY', ...expiry })
        .where(eq(accountFile.id, id))
        .returning(SHOWN);
      const fields = ['purpose', 'filename'];
      const values = createdValues(ready!, fields);
      await recordChange(tx, { ...actor, action: 'CreateFile', subjectId: id, fields, values });
      return ready;
    });
  }

  /** Returns a file that is complete. */
  async get(scope: FileScope, id: string): Promise<StoredFile | undefined> {
    const [row] = await this.#database.db
      .select(SHOWN)
      .from(accountFile)
      .where(and(own(scope, id), READY));
    return row;
  }

  /** Returns a page of files, and whether there are more. `undefined`: there is no file `after`. */
  async list(
    scope: FileScope,
    { after, limit, ascending, purpose }: FileListRequest,
  ): Promise<{ files: AccountFile[]; more: boolean } | undefined> {
    const behind = after === '' ? undefined : await this.get(scope, after);
    if (after !== '' && !behind) return undefined;
    const turn = ascending ? asc : desc;
    // The row is compared in the database: a Date has only milliseconds.
    const cursor = sql`(SELECT c.created_at, c.id FROM ${accountFile} c WHERE c.id = ${after})`;
    const key = sql`(${accountFile.createdAt}, ${accountFile.id})`;
    const beyond = ascending ? sql`${key} > ${cursor}` : sql`${key} < ${cursor}`;
    const rows = await this.#database.db
      .select(SHOWN)
      .from(accountFile)
      .where(
        and(
          visible(scope),
          READY,
          purpose === '' ? sql`${accountFile.purpose} <> 'draft'` : eq(accountFile.purpose, purpose),
          after === '' ? undefined : beyond,
        ),
      )
      .orderBy(turn(accountFile.createdAt), turn(accountFile.id))
      .limit(limit + 1);
    return { files: rows.slice(0, limit), more: rows.length > limit };
  }

  /** Gives up an upload: it counts no more, and the reaper removes its content. False: there is no such upload. */
  async giveUp({ accountId, onlyKeyId }: FileScope, id: string): Promise<boolean> {
    const { count } = await this.#database.sql`
      UPDATE account_file SET state = 'DELETED', written_at = now()
      WHERE id = ${id} AND account_id = ${accountId} AND state = 'UPLOADING' AND purpose <> 'draft'
        AND (${onlyKeyId} = '' OR key_id = ${onlyKeyId})`;
    return count > 0;
  }

  /** Hides a file at once; the reaper removes its content. */
  async remove(actor: Actor, scope: FileScope, id: string): Promise<FileRemoval> {
    return this.#database.db.transaction(async (tx) => {
      const [file] = await tx
        .select(SHOWN)
        .from(accountFile)
        .where(and(own(scope, id), READY))
        .for('update');
      if (!file) return 'NOT_FOUND';
      const [reader] = await statementOf(tx)<object[]>`
        SELECT FROM batch WHERE account_id = ${actor.accountId} AND file_id = ${id} AND ended_at IS NULL LIMIT 1`;
      if (reader) return 'IN_USE';
      await tx.update(accountFile).set({ state: 'DELETED', writtenAt: sql`now()` }).where(eq(accountFile.id, id));
      await recordChange(tx, { ...actor, action: 'DeleteFile', subjectId: id, fields: [] });
      return 'REMOVED';
    });
  }

  /** Returns the pieces of a file that have bytes from `start` to `end`, at most some. */
  async pieces(fileId: string, start: number, end: number, bytesMax: number): Promise<FilePiece[]> {
    const rows = await this.#database.sql<{ start: number; bytes: number; sealed: Buffer }[]>`
      SELECT start, bytes, content_sealed AS sealed FROM (
        SELECT p.start, p.bytes, p.content_sealed, sum(p.bytes) OVER (ORDER BY p.start) - p.bytes AS before
        FROM file_piece p WHERE p.file_id = ${fileId} AND p.start < ${end} AND p.start >= coalesce((
          SELECT max(f.start) FROM file_piece f WHERE f.file_id = ${fileId} AND f.start <= ${start}), 0)
      ) AS s WHERE before < ${bytesMax} ORDER BY start`;
    return rows;
  }

  /** Returns the pieces of results after a place, about FILE_READ_BYTES of them. */
  async results(batchId: string, side: string, after: { number: number; piece: number }): Promise<ResultPiece[]> {
    return this.#database.sql<ResultPiece[]>`
      SELECT number, piece, bytes, content_sealed AS sealed FROM (
        SELECT r.number, r.piece, r.bytes, r.content_sealed,
          sum(r.bytes) OVER (ORDER BY r.number, r.piece) - r.bytes AS before
        FROM (SELECT * FROM batch_result WHERE batch_id = ${batchId} AND side = ${side}
          AND (number, piece) > (${after.number}, ${after.piece})
          ORDER BY number, piece LIMIT ${RESULTS_READ_MAX}) AS r
      ) AS s WHERE before < ${FILE_READ_BYTES} ORDER BY number, piece`;
  }

  /** Returns the bytes of all files and results of an account. */
  async usedBytes(accountId: string): Promise<number> {
    return usedBytes(statementOf(this.#database.db), accountId);
  }
}

const READY = eq(accountFile.state, 'READY');

function visible({ accountId, onlyKeyId }: FileScope) {
  const mine = onlyKeyId === '' ? undefined : eq(accountFile.keyId, onlyKeyId);
  return and(eq(accountFile.accountId, accountId), mine);
}

function own(scope: FileScope, id: string) {
  return and(
    eq(accountFile.id, id),
    visible(scope),
    sql`(${accountFile.expiresAt} IS NULL
    OR ${accountFile.expiresAt} > now())`,
  );
}
