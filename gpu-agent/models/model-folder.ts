/**
 * The folder of one model in the store: `record.json`, and beside it the model in the layout of the hub's cache
 * (`models--org--name` with blobs, refs and snapshots), which workers get. The record is written last: a model without
 * one is not complete.
 */
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { ModelKey } from './model-name.ts';
import { cacheFolder, treeName } from './model-name.ts';
import type { ModelRecord } from './model-record.ts';
import { isDigest, parseRecord, RECORD_BYTES_MAX } from './model-record.ts';

const RECORD = 'record.json';
/** Ending of a content that has not arrived completely. */
const INCOMPLETE = '.incomplete';
/** Workers of any user read models; no user writes them. */
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o444;
/** Name that code which asks for no revision looks up. */
const DEFAULT_REVISION = 'main';

export class ModelFolder {
  readonly key: ModelKey;
  /** Its path in the store. */
  readonly path: string;
  /** The model in the hub's layout. */
  readonly hubPath: string;

  constructor(store: string, key: ModelKey, name = treeName(key)) {
    this.key = key;
    this.path = join(store, name);
    this.hubPath = join(this.path, cacheFolder(key.repository));
  }

  /** Creates the folder and those for its contents. */
  async make(): Promise<void> {
    for (const path of [
      this.path,
      this.hubPath,
      ...['blobs', 'refs', 'snapshots'].map((name) => join(this.hubPath, name)),
    ]) {
      await mkdir(path, { recursive: true });
      await chmod(path, FOLDER_MODE);
    }
  }

  /** Returns the path of a complete file. */
  blob(digest: string): string {
    return join(this.hubPath, 'blobs', digest);
  }

  /** Returns the path of a file that has not arrived completely. */
  incomplete(digest: string): string {
    return `${this.blob(digest)}${INCOMPLETE}`;
  }

  /** Makes an incomplete content complete: durable first, then visible. */
  async complete(digest: string): Promise<void> {
    const path = this.incomplete(digest);
    const file = await open(path, 'r+');
    try {
      await file.datasync();
      await file.chmod(FILE_MODE);
    } finally {
      await file.close();
    }
    await rename(path, this.blob(digest));
  }

  /** Takes a content from another folder of the same disk without copying it. Returns false if that is impossible. */
  async share(digest: string, from: string): Promise<boolean> {
    return link(from, this.blob(digest)).then(
      () => true,
      () => false,
    );
  }

  /** Copies a file to an incomplete content. */
  async copyIn(digest: string, from: string): Promise<void> {
    await copyFile(from, this.incomplete(digest), constants.COPYFILE_FICLONE);
    await chmod(this.incomplete(digest), 0o644);
  }

  /** Returns the bytes of a content that are there; `undefined` if none. `isComplete`: of the complete one. */
  async bytesOf(digest: string, isComplete: boolean): Promise<number | undefined> {
    return stat(isComplete ? this.blob(digest) : this.incomplete(digest)).then(
      ({ size }) => size,
      () => undefined,
    );
  }

  /** Returns the contents that are there, complete or not, with their bytes. */
  async contents(): Promise<{ digest: string; bytes: number; isComplete: boolean }[]> {
    const names = await readdir(join(this.hubPath, 'blobs')).catch(() => []);
    const found = await Promise.all(
      names.map(async (name) => {
        const digest = name.replace(INCOMPLETE, '');
        const isComplete = name === digest;
        const bytes = await this.bytesOf(digest, isComplete);
        return isDigest(digest) && bytes !== undefined ? [{ digest, bytes, isComplete }] : [];
      }),
    );
    return found.flat();
  }

  /** Writes the snapshot and the names of its revisions, then the record. All contents must be complete. */
  async finish(record: ModelRecord): Promise<void> {
    const snapshot = join(this.hubPath, 'snapshots', record.commit);
    // A crash may have left a part of it.
    await rm(snapshot, { recursive: true, force: true });
    for (const { path, digest } of record.files) {
      const at = join(snapshot, path);
      await makeReadable(dirname(at), this.hubPath);
      await symlink(relative(dirname(at), this.blob(digest)), at);
    }
    const wanted = new Set(record.files.map(({ digest }) => digest));
    for (const { digest, isComplete } of await this.contents())
      if (!wanted.has(digest)) await rm(isComplete ? this.blob(digest) : this.incomplete(digest), { force: true });
    for (const folder of [join(this.hubPath, 'blobs'), snapshot, join(this.hubPath, 'snapshots')]) await sync(folder);
    await this.rename(record);
  }

  /** Writes the names of its revisions and the record anew. */
  async rename(record: ModelRecord): Promise<void> {
    for (const revision of new Set([DEFAULT_REVISION, ...record.revisions])) {
      const at = join(this.hubPath, 'refs', revision);
      await makeReadable(dirname(at), this.hubPath);
      await write(at, record.commit);
    }
    await write(join(this.path, RECORD), JSON.stringify(record));
    await sync(this.path);
  }

  /** Reads the record. `undefined` if there is none, or it does not belong to the folder. */
  async read(): Promise<{ record: ModelRecord; usedAtMs: number } | undefined> {
    const path = join(this.path, RECORD);
    const found = await stat(path).catch(() => undefined);
    if (!found || found.size > RECORD_BYTES_MAX) return undefined;
    const record = parseRecord(await readFile(path, 'utf8').catch(() => ''));
    return record && treeName(record) === treeName(this.key) ? { record, usedAtMs: found.mtimeMs } : undefined;
  }

  /** Returns whether the record was written after this time, in milliseconds since 1970: an import gave it a name. */
  async isNewer(usedAtMs: number): Promise<boolean> {
    const found = await stat(join(this.path, RECORD)).catch(() => undefined);
    return found !== undefined && found.mtimeMs > usedAtMs + 1;
  }

  /** Records that it was used at this time, in milliseconds since 1970. */
  async touch(usedAtMs: number): Promise<void> {
    await utimes(join(this.path, RECORD), usedAtMs / 1_000, usedAtMs / 1_000).catch(() => undefined);
  }
}

/** Creates a folder that everyone can read, with its parents below `top`. */
async function makeReadable(folder: string, top: string): Promise<void> {
  if (folder === top || !folder.startsWith(`${top}/`)) return;
  await makeReadable(dirname(folder), top);
  await mkdir(folder, { recursive: true });
  await chmod(folder, FOLDER_MODE);
}

/** Writes a small file, durably and at once. */
async function write(path: string, text: string): Promise<void> {
  const part = `${path}.new`;
  const file = await open(part, 'w', FOLDER_MODE);
  try {
    await file.writeFile(text);
    await file.chmod(0o644);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(part, path);
}

/** Makes the names in a folder survive a power loss. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
