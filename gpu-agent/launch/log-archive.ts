/**
 * Archives the logs of workers and pods that ended, as files in the agent's data folder. Their bytes, their number and
 * the age of workers' logs are bounded. The owner that uses the most of a limit loses its oldest log first, so that an
 * endpoint whose workers end all the time removes no other owner's logs.
 */
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import type { BufferedLog } from './timed-log.ts';
import { bareText } from './timed-log.ts';

/** Most logs kept, however short: each is two files. */
const LOGS_MAX = 1_000;
/**
 * How long a worker's log is kept, in milliseconds: core knows ended workers for a day. A pod's log is removed with its
 * pod.
 */
const AGE_MS_MAX = 24 * 3_600_000;

const INDEX_END = '.index.json';
/** Format of ids that become file names: no id from core can lead out of the folder. */
const ID_FORM = /^[A-Za-z0-9_-]+$/;

interface Kept {
  id: string;
  /** The worker's endpoint, or the pod itself. */
  owner: string;
  /** Bytes of the log and its index. */
  bytes: number;
  /** When it ended, in milliseconds since 1970. */
  atMs: number;
}

/** A log from the archive. */
export interface ArchivedLog extends BufferedLog {
  /** The worker's endpoint, or the pod itself. */
  owner: string;
}

/** Options of LogArchive. */
interface LogArchiveOptions {
  folder: string;
  /** Most bytes of all logs and their indexes. */
  bytesMax: number;
  clock: Pick<Clock, 'nowMs'>;
}

export class LogArchive {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Archived logs, oldest first. */
  #kept: Kept[] = [];
  /**
   * Logs that are being written to the disk. They can be read already, so that a log is not missing just after its
   * workload ended.
   */
  readonly #writing = new Map<string, { log: Buffer; index: string }>();

  constructor({ folder, bytesMax, clock }: LogArchiveOptions) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#clock = clock;
  }

  /** Finds the logs of previous runs. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Earlier releases let others list the folder.
    await chmod(this.#folder, 0o700);
    const all = await readdir(this.#folder);
    const names = all.filter((name) => name.endsWith('.log'));
    // Indexes without a log, from an agent that was killed between the two writes. They would stay forever.
    const lonely = all.filter(
      (name) => name.endsWith(INDEX_END) && !all.includes(`${name.slice(0, -INDEX_END.length)}.log`),
    );
    await Promise.all(lonely.map((name) => rm(join(this.#folder, name), { force: true })));
    const found: Kept[] = [];
    // One after the other: reading a thousand indexes at once would use too much memory.
    for (const name of names) found.push(await this.#find(name.slice(0, -'.log'.length)));
    this.#kept = found.sort((a, b) => a.atMs - b.atMs);
    await this.prune();
  }

  /**
   * Archives a log. Its index records when its parts arrived and what the worker ran then. `owner`: a worker's
   * endpoint, or the pod itself.
   */
  async keep(
    { id, owner }: { id: string; owner: string },
    { bytes, ...index }: BufferedLog,
    spans: readonly object[] = [],
  ): Promise<void> {
    await this.#write({ id, owner }, bytes, JSON.stringify({ ...index, spans, owner }));
  }

  /** Removes logs that are too old or exceed the limits. Costs almost nothing if there are none. */
  async prune(): Promise<void> {
    const oldestMs = this.#clock.nowMs() - AGE_MS_MAX;
    const dropped = this.#kept.filter(({ id, owner, atMs }) => atMs < oldestMs && owner !== id);
    if (dropped.length > 0) this.#kept = this.#kept.filter((kept) => !dropped.includes(kept));
    const one = (): number => 1;
    const size = ({ bytes }: Kept): number => bytes;
    while (this.#kept.length > LOGS_MAX) dropped.push(...this.#kept.splice(this.#next(one), 1));
    while (sum(this.#kept.map(size)) > this.#bytesMax) dropped.push(...this.#kept.splice(this.#next(size), 1));
    await Promise.all(dropped.map(({ id }) => this.#remove(id)));
  }

  /** Removes a log. */
  async drop(workerId: string): Promise<void> {
    if (!this.#has(workerId)) return;
    this.#kept = this.#kept.filter(({ id }) => id !== workerId);
    await this.#remove(workerId);
  }

  /** Returns a log with the contents of its index. `undefined` if there is no log, or it has no index. */
  async attributed(id: string): Promise<ArchivedLog | undefined> {
    const early = this.#writing.get(id);
    if (!early && !this.#has(id)) return undefined;
    try {
      const [bytes, index] = early
        ? [early.log, early.index]
        : await Promise.all([readFile(this.#path(id)), readFile(this.#indexPath(id), 'utf8')]);
      return { bytes, ...(JSON.parse(index) as Omit<ArchivedLog, 'bytes'>) };
    } catch {
      return undefined;
    }
  }

  /** Returns the newest `bytes` bytes of the bare text of a worker's log; `undefined` if there is none. */
  async tail(workerId: string, bytes: number): Promise<Buffer | undefined> {
    const whole = await this.attributed(workerId);
    if (whole?.system?.some(({ hidden }) => hidden)) {
      const text = bareText(whole);
      return text.subarray(Math.max(0, text.length - bytes));
    }
    const early = this.#writing.get(workerId)?.log;
    if (early) return early.subarray(Math.max(0, early.length - bytes));
    if (!this.#has(workerId)) return undefined;
    const file = await open(this.#path(workerId)).catch(() => undefined);
    if (!file) return undefined;
    try {
      const { size } = await file.stat();
      const length = Math.min(size, bytes);
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  #path(workerId: string): string {
    return join(this.#folder, `${workerId}.log`);
  }

  /** Writes the index before its log: a log without an index would be taken for a pod's. */
  async #write({ id, owner }: Pick<Kept, 'id' | 'owner'>, log: Buffer, index: string): Promise<void> {
    if (!ID_FORM.test(id)) throw new Error(`No log is kept under the id ${JSON.stringify(id.slice(0, 64))}.`);
    const writing = { log, index };
    this.#writing.set(id, writing);
    try {
      await writeFile(this.#indexPath(id), index, { mode: 0o600 });
      await writeFile(this.#path(id), log, { mode: 0o600 });
      const kept = { id, owner, bytes: log.length + Buffer.byteLength(index), atMs: this.#clock.nowMs() };
      this.#kept = [...this.#kept.filter((other) => other.id !== id), kept];
    } catch (error) {
      // A partial log would use disk space that is not counted.
      if (!this.#has(id)) await this.#remove(id).catch(() => undefined);
      throw error;
    } finally {
      if (this.#writing.get(id) === writing) this.#writing.delete(id);
    }
    await this.prune();
  }

  /**
   * Returns the position of the oldest log of the owner with the largest total weight; of several such owners, the
   * oldest of all.
   */
  #next(weight: (kept: Kept) => number): number {
    const weights = new Map<string, number>();
    for (const kept of this.#kept) weights.set(kept.owner, (weights.get(kept.owner) ?? 0) + weight(kept));
    const most = Math.max(...weights.values());
    return this.#kept.findIndex(({ owner }) => weights.get(owner) === most);
  }

  #has(workerId: string): boolean {
    return this.#kept.some(({ id }) => id === workerId);
  }

  /** Reads the record of a log that a previous run archived. */
  async #find(id: string): Promise<Kept> {
    const [log, index] = await Promise.all([
      stat(this.#path(id)),
      readFile(this.#indexPath(id), 'utf8').catch(() => ''),
    ]);
    return { id, owner: ownerOf(index) ?? id, bytes: log.size + Buffer.byteLength(index), atMs: log.mtimeMs };
  }

  #indexPath(workerId: string): string {
    return join(this.#folder, `${workerId}${INDEX_END}`);
  }

  async #remove(workerId: string): Promise<void> {
    await rm(this.#path(workerId), { force: true });
    await rm(this.#indexPath(workerId), { force: true });
  }
}

/** Returns the owner; `undefined` for a log of an earlier release, in which pods' logs had no index. */
function ownerOf(index: string): string | undefined {
  try {
    const { owner } = JSON.parse(index) as { owner?: unknown };
    return typeof owner === 'string' ? owner : undefined;
  } catch {
    return undefined;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
