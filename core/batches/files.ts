/** Uploads, lists, reads and deletes files of an account. */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { AccountFile, FileLimits, FileScope } from '../domain/batches/file.ts';
import {
  checkFile,
  FILE_BYTES_MAX,
  FILE_PIECE_BYTES_MAX,
  FILE_READ_BYTES,
  FILES_LISTED_MAX,
  fileNotFound,
  keptSeconds,
} from '../domain/batches/file.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { invalid } from '../domain/settings/fields.ts';
import { batchResultIdentity, filePieceIdentity } from '../domain/settings/sealed-identity.ts';
import type { StoredFile } from '../store/batches/file-store.ts';
import type { Stores } from '../store/storage.ts';

const ID_LENGTH = 24;
const OFFSET_FORM = /^\d{1,15}$/;
const RESULT_FORM = /^(\d{1,9})\.(\d{1,9})$/;

/** Dependencies of the use cases of files. */
export interface FileContext extends Pick<Stores, 'files'> {
  sealer: Sealer;
  random: Random;
  limits: FileLimits;
}

/** A caller, and the files that it may see. */
interface FileOwner {
  actor: Actor;
  scope: FileScope;
}

/** Which files to list. */
interface ListedFiles {
  after: string;
  /** 0: the most. */
  limit: number;
  ascending: boolean;
  purpose: string;
}

/** Begins an upload. Throws INVALID_REQUEST, or QUEUE_FULL if the account has as many files or bytes as it may. */
export async function createFile(
  { files, random, limits }: FileContext,
  actor: Actor,
  { purpose, filename, expireSeconds }: { purpose: string; filename: string; expireSeconds: number },
): Promise<AccountFile> {
  checkFile(purpose, filename);
  const seconds = keptSeconds('expires_after', expireSeconds);
  return files.create(actor, { id: `file-${random.id(ID_LENGTH)}`, purpose, filename, seconds }, limits);
}

/** Adds a piece to an upload. Returns its size. Throws NOT_FOUND, INVALID_REQUEST or QUEUE_FULL. */
export async function appendFile(
  { files, sealer, limits }: FileContext,
  { scope }: FileOwner,
  { id, start, content }: { id: string; start: number; content: Buffer },
): Promise<number> {
  const bytes = content.length;
  if (bytes === 0 || bytes > FILE_PIECE_BYTES_MAX)
    throw invalid(`content has ${bytes} bytes, but must have 1 to ${FILE_PIECE_BYTES_MAX}`);
  if (start < 0 || start > FILE_BYTES_MAX) throw invalid(`start is ${start}, but a file has ${FILE_BYTES_MAX} at most`);
  const sealed = sealer.seal(content, filePieceIdentity(id, start));
  const size = await files.append(scope, id, { start, bytes, sealed }, limits);
  if (size === undefined) throw fileNotFound(id);
  return size;
}

/** Ends an upload. `expireSeconds`: 0 leaves what was said at its beginning. Throws NOT_FOUND, INVALID_REQUEST. */
export async function finishFile(
  { files }: FileContext,
  { actor, scope }: FileOwner,
  { id, expireSeconds }: { id: string; expireSeconds: number },
) {
  const seconds = expireSeconds === 0 ? undefined : keptSeconds('expires_after', expireSeconds);
  const file = await files.finish(actor, scope, id, seconds);
  if (!file) throw fileNotFound(id);
  return file;
}

/** Returns a file. Throws NOT_FOUND. */
export async function getFile({ files }: Pick<FileContext, 'files'>, scope: FileScope, id: string) {
  const file = await files.get(scope, id);
  if (!file || file.purpose === 'draft') throw fileNotFound(id);
  return file;
}

/** Returns a page of files. Throws INVALID_REQUEST. */
export async function listFiles({ files }: FileContext, scope: FileScope, listed: ListedFiles) {
  const { after, limit } = listed;
  if (limit < 0 || limit > FILES_LISTED_MAX) throw invalid(`limit is ${limit}, but must be 1 to ${FILES_LISTED_MAX}`);
  const page = await files.list(scope, { ...listed, limit: limit || FILES_LISTED_MAX });
  if (!page) throw invalid(`after: there is no file ${JSON.stringify(after.slice(0, 64))}`);
  return page;
}

/** Deletes a file, or gives up an upload. Throws NOT_FOUND, or IN_USE if a batch that has not ended reads it. */
export async function deleteFile({ files }: FileContext, { actor, scope }: FileOwner, id: string): Promise<void> {
  if (await files.giveUp(scope, id)) return;
  await getFile({ files }, scope, id);
  const removal = await files.remove(actor, scope, id);
  if (removal === 'NOT_FOUND') throw fileNotFound(id);
  if (removal === 'IN_USE')
    throw new DomainError('IN_USE', `A batch that has not ended reads the file ${id}. Cancel it first, or wait.`);
}

/** Returns the next part of a file, and the cursor after it; empty: that was the end. Throws NOT_FOUND. */
export async function readFile(
  context: Pick<FileContext, 'files' | 'sealer'>,
  scope: FileScope,
  { id, cursor }: { id: string; cursor: string },
): Promise<{ content: Buffer; next: string }> {
  const file = await getFile(context, scope, id);
  return file.batchId === null ? readPieces(context, file, cursor) : readResults(context, file, cursor);
}

async function readPieces({ files, sealer }: Pick<FileContext, 'files' | 'sealer'>, file: StoredFile, cursor: string) {
  if (cursor !== '' && !OFFSET_FORM.test(cursor)) throw badCursor();
  const pieces = await files.pieces(file.id, Number(cursor), file.bytes, FILE_READ_BYTES);
  const content = pieces.map(({ start, sealed }) => sealer.open(sealed, filePieceIdentity(file.id, start)));
  const last = pieces.at(-1);
  const end = last ? last.start + last.bytes : file.bytes;
  return { content: Buffer.concat(content), next: end < file.bytes ? `${end}` : '' };
}

async function readResults({ files, sealer }: Pick<FileContext, 'files' | 'sealer'>, file: StoredFile, cursor: string) {
  const [, number, piece] = RESULT_FORM.exec(cursor) ?? [];
  if (cursor !== '' && number === undefined) throw badCursor();
  const after = cursor === '' ? { number: 0, piece: 0 } : { number: Number(number), piece: Number(piece) };
  const pieces = await files.results(file.batchId!, file.side!, after);
  const content = pieces.map(({ number: of, piece: at, sealed }) =>
    sealer.open(sealed, batchResultIdentity(file.batchId!, of, at)),
  );
  const last = pieces.at(-1);
  return { content: Buffer.concat(content), next: last ? `${last.number}.${last.piece}` : '' };
}

function badCursor(): DomainError {
  return invalid('cursor is none that an answer gave; leave it out to begin');
}
