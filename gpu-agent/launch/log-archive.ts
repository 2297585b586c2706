/**
 * Logs of workers and pods that ended, as files in the agent's data folder. A bounded number is kept; whoever has the most loses his oldest, so that an
 * endpoint whose workers end all the time takes no other's away.
 */
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeptLog } from './timed-log.ts';

/** Logs kept. With at most 1 MiB each they take at most this many MiB. */
const LOGS_MAX = 50;

const INDEX_END = '.index.json';

interface Kept {
  id: string;
  /** The worker's endpoint, or the pod itself. */
  owner: string;
}

export class LogArchive {
  readonly #folder: string;
  /** The oldest first. */
  #kept: Kept[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Finds the logs of earlier runs. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Earlier releases let others look.
    await chmod(this.#folder, 0o700);
    const all = await readdir(this.#folder);
    const names = all.filter((name) => name.endsWith('.log'));
    // Of an agent that was killed between the two files; it would stay for ever.
    const lonely = all.filter((name) => name.endsWith(INDEX_END) && !all.includes(`${name.slice(0, -INDEX_END.length)}.log`));
    await Promise.all(lonely.map((name) => rm(join(this.#folder, name), { force: true })));
    const aged = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(this.#folder, name))).mtimeMs })));
    const ids = aged.sort((a, b) => a.at - b.at).map(({ name }) => name.slice(0, -'.log'.length));
    this.#kept = await Promise.all(ids.map(async (id) => ({ id, owner: await this.#ownerOf(id) })));
    await this.#prune();
  }

  /** Keeps the log of a worker that ended, and beside it when its parts arrived and what the worker ran then. */
  async keepIndexed({ id, endpointId }: { id: string; endpointId: string }, { bytes, ...index }: KeptLog, spans: readonly object[]): Promise<void> {
    await writeFile(this.#indexPath(id), JSON.stringify({ ...index, spans, owner: endpointId }), { mode: 0o600 });
    await this.keep(id, bytes, endpointId);
  }

  /** Keeps the log of what ended. `owner`: default itself. */
  async keep(id: string, log: Buffer, owner = id): Promise<void> {
    await writeFile(this.#path(id), log, { mode: 0o600 });
    this.#kept = [...this.#kept.filter((kept) => kept.id !== id), { id, owner }];
    await this.#prune();
  }

  /** Forgets a log. */
  async drop(workerId: string): Promise<void> {
    if (!this.#has(workerId)) return;
    this.#kept = this.#kept.filter(({ id }) => id !== workerId);
    await this.#remove(workerId);
  }

  /** A worker's log with what stands in its index. Undefined: there is none, or it has no index. */
  async attributed(workerId: string): Promise<KeptLog | undefined> {
    if (!this.#has(workerId)) return undefined;
    try {
      const [bytes, index] = await Promise.all([readFile(this.#path(workerId)), readFile(this.#indexPath(workerId), 'utf8')]);
      return { bytes, ...JSON.parse(index) as Omit<KeptLog, 'bytes'> };
    } catch {
      return undefined;
    }
  }

  /** The newest `bytes` bytes of a worker's log, or undefined when there is none. */
  async tail(workerId: string, bytes: number): Promise<Buffer | undefined> {
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

  async #prune(): Promise<void> {
    const dropped: Kept[] = [];
    while (this.#kept.length > LOGS_MAX) dropped.push(...this.#kept.splice(this.#next(), 1));
    await Promise.all(dropped.map(({ id }) => this.#remove(id)));
  }

  /** Where the oldest of whoever has the most stands; of several, the oldest of all. */
  #next(): number {
    const counts = new Map<string, number>();
    for (const { owner } of this.#kept) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return this.#kept.findIndex(({ owner }) => counts.get(owner) === most);
  }

  #has(workerId: string): boolean {
    return this.#kept.some(({ id }) => id === workerId);
  }

  /** Of what an earlier run kept. */
  async #ownerOf(id: string): Promise<string> {
    try {
      const { owner } = JSON.parse(await readFile(this.#indexPath(id), 'utf8')) as { owner?: unknown };
      return typeof owner === 'string' ? owner : id;
    } catch {
      return id;
    }
  }

  #indexPath(workerId: string): string {
    return join(this.#folder, `${workerId}${INDEX_END}`);
  }

  async #remove(workerId: string): Promise<void> {
    await rm(this.#path(workerId), { force: true });
    await rm(this.#indexPath(workerId), { force: true });
  }
}
