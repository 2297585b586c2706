/**
 * Brings all files of one model into its folder: from other machines first, then from the hub. The folder is shown as
 * complete only when every file has been verified.
 */

import { eachOf } from '@slipway/kit/lifecycle/each-of';
import { sizeText } from '../images/pull-progress.ts';
import { downloadFile, TrickleError } from './file-download.ts';
import type { FileSource } from './file-source.ts';
import { mayPass } from './hub-error.ts';
import { hubFailure } from './hub-failure.ts';
import { isDiskFull, ModelError } from './model-error.ts';
import type { ModelFolder } from './model-folder.ts';
import type { ModelMeter } from './model-metrics.ts';
import type { ModelKey } from './model-name.ts';
import type { ModelFile, ModelRecord } from './model-record.ts';
import { contentsOf, sizeOf } from './model-record.ts';
import type { ModelStore } from './model-store.ts';
import type { RetryRule } from './retry-hub.ts';
import { retryHub } from './retry-hub.ts';

/** A model to bring. */
interface PullOrder {
  key: ModelKey;
  /** Revision that was asked for. */
  revision: string;
  files: readonly ModelFile[];
  /** Machines that have it, in the order in which to try them. */
  peers: readonly FileSource[];
  hub: FileSource;
  /** The hub gets a token. */
  hasToken: boolean;
}

/** Dependencies of a pull. */
interface PullParts extends RetryRule, Pick<Partial<ModelMeter>, 'onModelBytes'> {
  store: ModelStore;
  /** Files at once. */
  filesAtOnce: number;
  /** Milliseconds without a byte, or with next to none, after which a connection is given up. */
  silenceMs: number;
  /** Reports the progress for people. */
  report(text: string): void;
  /** Reports the bytes downloaded so far and in total. */
  onBytes(doneBytes: number, totalBytes: number): void;
  signal: AbortSignal;
}

/** Most times that the hub may send a content that differs from its digest. */
const WRONG_MAX = 3;

export class ModelPull {
  readonly #order: PullOrder;
  readonly #parts: PullParts;
  /** Bytes that are there, by digest. */
  readonly #bytes = new Map<string, number>();
  /** Machines that have not failed yet. */
  #peers: FileSource[];
  #done = 0;
  readonly #total: number;

  constructor(order: PullOrder, parts: PullParts) {
    this.#order = order;
    this.#parts = parts;
    this.#peers = [...order.peers];
    this.#total = sizeOf(order.files);
  }

  /** Resolves with the record once the model is complete. Rejects with ModelError, or when `signal` aborts. */
  async run(): Promise<ModelRecord> {
    const { key, files } = this.#order;
    const { store, filesAtOnce, signal } = this.#parts;
    const folder = await store.begin(key, files);
    let drop = false;
    try {
      await folder.make();
      await eachOf(contentsOf(files), filesAtOnce, (file) => this.#bring(folder, file));
      signal.throwIfAborted();
      const record = { ...key, revisions: [], files: [...files], imported: false };
      await folder.finish(record);
      return record;
    } catch (error) {
      drop = isDiskFull(error);
      if (drop)
        throw new ModelError(
          'DISK_FULL',
          `the machine's disk has no space for ${key.repository} (${sizeText(this.#total)}) beside the models in use`,
        );
      throw error;
    } finally {
      await store.end(key, drop);
    }
  }

  /** Brings one content, unless it is there. */
  async #bring(folder: ModelFolder, file: ModelFile): Promise<void> {
    const { store, signal } = this.#parts;
    signal.throwIfAborted();
    const isThere = (await folder.bytesOf(file.digest, true)) === file.sizeBytes;
    const other = isThere ? undefined : store.pathOf(file.digest, folder.key.accountNumber);
    if (isThere || (other !== undefined && (await folder.share(file.digest, other))))
      return this.#has(file, file.sizeBytes);
    while (this.#peers.length > 0 && !signal.aborted) {
      const peer = this.#peers[0]!;
      if (await this.#copy(folder, file, peer)) return;
      // It may be away, busy, or have lost the model: the others and the hub have it, too.
      this.#peers = this.#peers.filter((each) => each !== peer);
    }
    await this.#download(folder, file);
  }

  /** Copies a content from another machine. Returns false if that failed. */
  async #copy(folder: ModelFolder, file: ModelFile, peer: FileSource): Promise<boolean> {
    try {
      await this.#read(folder, file, peer);
      return true;
    } catch (error) {
      this.#parts.signal.throwIfAborted();
      if (isDiskFull(error)) throw error;
      return false;
    }
  }

  async #download(folder: ModelFolder, file: ModelFile): Promise<void> {
    const { hub, key, revision, hasToken } = this.#order;
    const { signal, report } = this.#parts;
    const has = (): number => this.#bytes.get(file.digest) ?? 0;
    let [before, wrong, trickled] = [has(), 0, false];
    const read = (): Promise<void> => {
      [before, trickled] = [has(), false];
      return this.#read(folder, file, hub).catch((error: unknown) => {
        trickled = error instanceof TrickleError;
        throw error;
      });
    };
    try {
      await retryHub(this.#parts, signal, read, {
        progressed: () => has() > before && !trickled,
        mayHelp: (error) => {
          wrong += error instanceof ModelError ? 1 : 0;
          return !isDiskFull(error) && wrong < WRONG_MAX && mayPass(error);
        },
        onFailure: (error) => report(`${this.#text()} (${(error as Error).message}; trying again)`),
      });
    } catch (error) {
      signal.throwIfAborted();
      if (isDiskFull(error)) throw error;
      throw hubFailure({ error, hub: hub.name, repository: key.repository, revision, hasToken });
    }
  }

  /** Reads a content from a source once. On a full disk, unused models are evicted first. */
  async #read(folder: ModelFolder, file: ModelFile, source: FileSource): Promise<void> {
    const { signal, store, clock, silenceMs: paceMs, onModelBytes } = this.#parts;
    const origin = source === this.#order.hub ? 'hub' : 'machine';
    const onReceived = (bytes: number): void => onModelBytes?.(origin, bytes);
    const onBytes = (bytes: number): void => this.#has(file, bytes);
    for (;;) {
      try {
        return await downloadFile({ file, folder, onBytes, onReceived, clock, paceMs, signal }, source);
      } catch (error) {
        if (signal.aborted || !isDiskFull(error) || !(await store.freeSpace())) throw error;
      }
    }
  }

  #has({ digest }: ModelFile, bytes: number): void {
    const { report, onBytes } = this.#parts;
    this.#done += bytes - (this.#bytes.get(digest) ?? 0);
    this.#bytes.set(digest, bytes);
    report(this.#text());
    onBytes(this.#done, this.#total);
  }

  #text(): string {
    const { key } = this.#order;
    const verb = this.#peers.length > 0 ? 'copying' : 'downloading';
    const from = this.#peers.length > 0 ? ' from another machine' : '';
    const percent = this.#total === 0 ? 100 : Math.floor((this.#done / this.#total) * 100);
    return `${verb} ${key.repository}${from}: ${percent} % of ${sizeText(this.#total)}`;
  }
}
