/**
 * The models on this machine's disk. Knows which are complete and in use, and removes the least recently used when
 * others need the disk. There is no database: folders are read at the start and now and then, so models that an import
 * brings are found. Folders appear and go by renaming, so none is seen half.
 */
import { chmod, mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { sizeText } from '../images/pull-progress.ts';
import { ModelError } from './model-error.ts';
import { ModelFolder } from './model-folder.ts';
import type { ModelKey } from './model-name.ts';
import { keyOfName, treeName } from './model-name.ts';
import type { ModelFile, ModelRecord } from './model-record.ts';
import { contentsOf, sizeOf, withRevision } from './model-record.ts';
import { ModelUses } from './model-uses.ts';

/** A model on the disk. */
interface StoredModel {
  folder: ModelFolder;
  /** `undefined` if it is not complete. */
  record: ModelRecord | undefined;
  usedAtMs: number;
  /** Bytes of each content, by digest. The final size already while it is being downloaded. */
  bytes: Map<string, number>;
}

/** Settings of a store. */
interface StoreOptions {
  /** Its folder. */
  path: string;
  /** Returns the most bytes that models may take; it may change. `undefined`: half of the disk. */
  limitBytes(): number | undefined;
  clock: Clock;
  random: Random;
}

/** Prefix of folders that are being removed. */
const TRASH = '.trash-';
/** Only the agent passes: models of one account are no concern of the others' commands. Workers get mounts. */
const CLOSED = 0o700;
const ID_LETTERS = 12;
/** Disk that stays free for everything else of the machine: this share, but no more than these bytes. */
const FREE_SHARE = 0.02;
const FREE_BYTES_MAX = 1024 ** 3;
/** Age at which an abandoned download is removed, in milliseconds. */
const UNFINISHED_MS_MAX = 24 * 3_600_000;

export class ModelStore {
  readonly path: string;
  readonly #options: StoreOptions;
  readonly #models = new Map<string, StoredModel>();
  readonly #pins: ModelUses;
  readonly #opened = Promise.withResolvers<void>();
  /** Names of folders that are being downloaded. */
  readonly #busy = new Set<string>();
  /** Half of the disk. `undefined` until the store is open: it takes nothing before. */
  #halfBytes: number | undefined;
  /** Decisions about the disk are made one after the other. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: StoreOptions) {
    this.path = options.path;
    this.#pins = new ModelUses(options.path);
    this.#options = options;
  }

  /** Resolves when models can be used, or it is known that they cannot. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get limitBytes(): number {
    return this.#halfBytes === undefined ? 0 : (this.#options.limitBytes() ?? this.#halfBytes);
  }

  /** Bytes that models take. Downloads count with their final size. */
  get usedBytes(): number {
    const all = new Map<string, number>();
    for (const { bytes } of this.#models.values())
      for (const [digest, size] of bytes) all.set(digest, Math.max(size, all.get(digest) ?? 0));
    return all.values().reduce((sum, size) => sum + size, 0);
  }

  /** Creates the folder, removes what was left half-removed, and reads what is there. */
  async open(): Promise<void> {
    await this.#open().finally(() => this.#opened.resolve());
  }

  async #open(): Promise<void> {
    await mkdir(this.path, { recursive: true });
    await chmod(this.path, CLOSED);
    for (const name of await readdir(this.path))
      if (name.startsWith(TRASH)) await rm(join(this.path, name), { recursive: true, force: true });
    const { blocks, bsize } = await statfs(this.path);
    await this.#pins.open();
    this.#halfBytes = Math.floor((blocks * bsize) / 2);
    await this.scan();
  }

  /** Reads the folders: new ones are added, missing ones forgotten. Returns true if something changed. */
  scan(): Promise<boolean> {
    return this.#next(async () => {
      const names = new Set(await readdir(this.path));
      let changed = false;
      for (const [name, { record }] of this.#models) {
        if (names.has(name) || this.#busy.has(name)) continue;
        this.#models.delete(name);
        changed ||= record !== undefined;
      }
      for (const name of names) {
        const key = keyOfName(name);
        const known = this.#models.get(name);
        if (!key || this.#busy.has(name) || (known?.record && !(await known.folder.isNewer(known.usedAtMs)))) continue;
        const model = await this.#read(key);
        this.#models.set(name, model);
        changed ||= model.record !== undefined;
      }
      return changed;
    });
  }

  /** Returns the complete models, the last used first. */
  ready(): ModelRecord[] {
    return [...this.#models.values()]
      .toSorted((one, other) => other.usedAtMs - one.usedAtMs)
      .flatMap(({ record }) => record ?? []);
  }

  /** Returns a complete model; `undefined` if it is not here. */
  find(key: ModelKey): ModelRecord | undefined {
    return this.#models.get(treeName(key))?.record;
  }

  /** Returns the folder of a model, complete or not. */
  folderOf(key: ModelKey): ModelFolder {
    return this.#models.get(treeName(key))?.folder ?? new ModelFolder(this.path, key);
  }

  /**
   * Records that a workload is about to use a complete model, under this revision. The model stays until `unpin`.
   * Returns false if it was removed.
   */
  use(owner: string, key: ModelKey, revision: string): Promise<boolean> {
    return this.#next(async () => {
      const model = this.#models.get(treeName(key));
      if (!model?.record) return false;
      await this.#pins.add(owner, treeName(key));
      model.usedAtMs = this.#options.clock.nowMs();
      const next = withRevision(model.record, revision);
      if (next !== model.record) await model.folder.rename(next);
      model.record = next;
      await model.folder.touch(model.usedAtMs);
      return true;
    });
  }

  /** Ends the use of all models by a worker. */
  unpin(owner: string): Promise<void> {
    return this.#pins.drop(owner);
  }

  /** Ends the use of models by all workers but these. */
  keepPins(owners: ReadonlySet<string>): Promise<void> {
    return this.#pins.dropOthers(owners);
  }

  /**
   * Begins a download: makes room for all of these files, or rejects with ModelError. Until `end`, the folder belongs
   * to the download.
   */
  begin(key: ModelKey, files: readonly ModelFile[]): Promise<ModelFolder> {
    return this.#next(async () => {
      const needed = sizeOf(files);
      const model = await this.#read(key);
      const has = [...model.bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
      await this.#makeSpace(key, needed, files, Math.max(0, needed - has));
      model.bytes = new Map(contentsOf(files).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
      this.#models.set(treeName(key), model);
      this.#busy.add(treeName(key));
      return model.folder;
    });
  }

  /** Ends a download. `drop` removes what has arrived. */
  end(key: ModelKey, drop: boolean): Promise<void> {
    return this.#next(async () => {
      const name = treeName(key);
      this.#busy.delete(name);
      if (drop) return this.#remove(name);
      this.#models.set(name, await this.#read(key));
    });
  }

  /**
   * Returns the path of a complete content of another model that this account may see: a public one, or its own. No
   * account may get by a digest what the hub would not give it. `undefined` if there is none.
   */
  pathOf(digest: string, accountNumber: number): string | undefined {
    const holder = this.#models
      .values()
      .find(({ record, bytes }) => record && [0, accountNumber].includes(record.accountNumber) && bytes.has(digest));
    return holder?.folder.blob(digest);
  }

  /** Removes the least recently used model to free disk space. Returns false if every one is needed. */
  freeSpace(): Promise<boolean> {
    return this.#next(() => this.#removeOldest());
  }

  /** Removes models beyond the limit, and abandoned downloads. Returns true if something was removed. */
  shrink(): Promise<boolean> {
    return this.#next(async () => {
      const before = this.#models.size;
      const oldMs = this.#options.clock.nowMs() - UNFINISHED_MS_MAX;
      for (const [name, { record, usedAtMs }] of this.#models)
        if (!record && usedAtMs < oldMs && !this.#busy.has(name)) await this.#remove(name);
      while (this.usedBytes > this.limitBytes && (await this.#removeOldest()));
      return this.#models.size < before;
    });
  }

  async #makeSpace(key: ModelKey, needed: number, files: readonly ModelFile[], missing: number): Promise<void> {
    if (needed > this.limitBytes) {
      const limit = this.limitBytes === 0 ? 'takes no models' : `gives models ${sizeText(this.limitBytes)} of its disk`;
      throw new ModelError(
        'DISK_FULL',
        `${key.repository} has ${sizeText(needed)}, and the machine ${limit} (--model-disk)`,
      );
    }
    for (;;) {
      const { bavail, blocks, bsize } = await statfs(this.path);
      const free = bavail * bsize - Math.min(FREE_BYTES_MAX, blocks * bsize * FREE_SHARE);
      if (this.#with(key, files) <= this.limitBytes && missing <= free) return;
      if (await this.#removeOldest(treeName(key))) continue;
      const why =
        missing > free ? `its disk has ${sizeText(Math.max(0, free))} left` : 'the other models there are in use';
      throw new ModelError(
        'DISK_FULL',
        `${key.repository} needs ${sizeText(missing)} more on the machine, but ${why}: give models more (--model-disk)`,
      );
    }
  }

  /** Returns the bytes that all models take once this one is complete. */
  #with(key: ModelKey, files: readonly ModelFile[]): number {
    const all = new Map(contentsOf(files).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
    for (const [name, { bytes }] of this.#models)
      if (name !== treeName(key))
        for (const [digest, size] of bytes) all.set(digest, Math.max(size, all.get(digest) ?? 0));
    return all.values().reduce((sum, size) => sum + size, 0);
  }

  /** Evicts the least recently used model without a user, incomplete ones first. */
  async #removeOldest(except?: string): Promise<boolean> {
    const pinned = this.#pins.names;
    const [oldest] = [...this.#models]
      .filter(
        ([name, { record }]) => name !== except && !pinned.has(name) && !this.#busy.has(name) && !record?.imported,
      )
      .toSorted(([, one], [, other]) => Number(!!one.record) - Number(!!other.record) || one.usedAtMs - other.usedAtMs);
    if (!oldest) return false;
    await this.#remove(oldest[0]);
    return true;
  }

  async #remove(name: string): Promise<void> {
    const trash = join(this.path, `${TRASH}${this.#options.random.id(ID_LETTERS)}`);
    this.#models.delete(name);
    const isGone = await rename(join(this.path, name), trash).then(
      () => false,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return true;
      },
    );
    if (!isGone) await rm(trash, { recursive: true, force: true });
  }

  async #read(key: ModelKey): Promise<StoredModel> {
    const folder = new ModelFolder(this.path, key);
    const [found, contents] = [await folder.read(), await folder.contents()];
    const bytes = new Map(contents.map(({ digest, bytes }) => [digest, bytes]));
    const isWhole =
      found && contentsOf(found.record.files).every(({ digest, sizeBytes }) => bytes.get(digest) === sizeBytes);
    const usedAtMs = found?.usedAtMs ?? (await stat(join(folder.hubPath, 'blobs')).catch(() => undefined))?.mtimeMs;
    return {
      folder,
      record: isWhole ? found.record : undefined,
      usedAtMs: usedAtMs ?? this.#options.clock.nowMs(),
      bytes,
    };
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }
}
