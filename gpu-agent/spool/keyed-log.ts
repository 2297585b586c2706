/**
 * A small table on disk that outlives a killed agent: the last value of each key, appended line by line and written
 * anew when most lines are out of date. Nothing waits for it and nothing is synced: it must survive the end of a
 * process, not of the host, with which all that it tells of ends too. What is written while a write runs leaves with
 * the next one, and of several values of a key only the last.
 */
import type { Disk, DiskFile } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';

/** Lines beyond twice the live ones at which the file is written anew. */
const STALE_LINES_MAX = 1_000;
/**
 * Bytes beyond twice the live ones at which it is, too: streamed values are among the lines, and many of them are of
 * megabytes.
 */
const STALE_BYTES_MAX = 16 * 1024 * 1024;
/** What is live is a fraction of this; a file beyond it was not written by an agent. */
const FILE_BYTES_MAX = 1024 * 1024 * 1024;
const LINE_FEED = 0x0a;

export class KeyedLog<Value> {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #disk: Disk;
  readonly #live = new Map<string, Value>();
  /** Keys whose last value is not on disk. */
  readonly #dirty = new Set<string>();
  #file: DiskFile | undefined;
  #lines = 0;
  #bytes = 0;
  /** Bytes of the file when it was written anew. */
  #freshBytes = 0;
  #writing: Promise<void> | undefined;
  #failed = false;
  #open = false;

  constructor({ path, logger, disk }: { path: string; logger: Logger; disk: Disk }) {
    this.#path = path;
    this.#logger = logger;
    this.#disk = disk;
  }

  /**
   * Reads what an earlier run left and begins a file of its own. A line that was cut off, and whatever follows it, is
   * dropped. Never rejects: what cannot be read counts as nothing, which is said, and on a disk that takes nothing it
   * tries again with the next value.
   */
  async open(): Promise<ReadonlyMap<string, Value>> {
    const left = await readKeyedLog<Value>(this.#path, this.#disk).catch((error: unknown) => {
      this.#logger.error(
        { err: error, path: this.#path },
        'what the run before held cannot be read: nothing of it goes on',
      );
      return new Map<string, Value>();
    });
    for (const [key, value] of left) this.#live.set(key, value);
    await this.#renew().catch((error: unknown) => this.#complain(error));
    this.#open = true;
    return left;
  }

  /** The value of a key, also one that is not on disk yet. */
  get(key: string): Value | undefined {
    return this.#live.get(key);
  }

  /** Keeps a value; it must not be changed afterwards. */
  set(key: string, value: Value): void {
    this.#live.set(key, value);
    this.#write(key);
  }

  delete(key: string): void {
    if (this.#live.delete(key)) this.#write(key);
  }

  /**
   * Resolves when all that was said so far is in the file, or could not be written: then only the next run knows less.
   */
  async written(): Promise<void> {
    await this.#writing;
  }

  /** Nothing is written afterwards. */
  async close(): Promise<void> {
    await this.#writing;
    this.#open = false;
    await this.#file?.close();
    this.#file = undefined;
  }

  #write(key: string): void {
    this.#dirty.add(key);
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Never rejects: without a disk the agent goes on, and only its next run knows less. */
  async #writeAll(): Promise<void> {
    // Begins a moment later, so that what one message brings is one write.
    await Promise.resolve();
    while (this.#dirty.size > 0 && this.#open) {
      const keys = [...this.#dirty];
      this.#dirty.clear();
      try {
        if (!this.#file || this.#failed || this.#isStale(keys.length)) await this.#renew();
        else await this.#append(keys);
        this.#failed = false;
      } catch (error) {
        return this.#complain(error);
      }
    }
  }

  /** Most of it is out of date: writing it anew costs less than what was added since it was. */
  #isStale(lines: number): boolean {
    return (
      this.#lines + lines > 2 * this.#live.size + STALE_LINES_MAX ||
      this.#bytes > 2 * this.#freshBytes + STALE_BYTES_MAX
    );
  }

  #complain(error: unknown): void {
    if (!this.#failed)
      this.#logger.warn(
        { err: error, path: this.#path },
        'what this agent holds was not written down: a restart would lose it',
      );
    this.#failed = true;
  }

  async #append(keys: readonly string[]): Promise<void> {
    const text = keys.map((key) => lineOf(key, this.#live.get(key))).join('');
    await this.#file!.appendFile(text);
    this.#lines += keys.length;
    this.#bytes += Buffer.byteLength(text);
  }

  /** Beside the old one and then in its place, so that there is always a whole one. */
  async #renew(): Promise<void> {
    const lines = [...this.#live].map(([key, value]) => lineOf(key, value));
    const text = lines.join('');
    const file = await this.#disk.open(`${this.#path}.new`, 'w', 0o600);
    try {
      await file.appendFile(text);
      await this.#disk.rename(`${this.#path}.new`, this.#path);
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#lines = lines.length;
    this.#bytes = this.#freshBytes = Buffer.byteLength(text);
  }
}

/** What is in such a file, whoever writes it; nothing when there is none. Rejects when it cannot be read. */
export async function readKeyedLog<Value>(path: string, disk: Disk): Promise<Map<string, Value>> {
  const bytes = await disk.readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  if (bytes.length > FILE_BYTES_MAX) throw new Error(`${path} has ${bytes.length} bytes: no agent has written it`);
  return readLines<Value>(bytes);
}

function lineOf(key: string, value: unknown): string {
  return `${JSON.stringify(value === undefined ? [key] : [key, value])}\n`;
}

/** Line by line: as one text it may be longer than a text may be. */
function readLines<Value>(bytes: Buffer): Map<string, Value> {
  const found = new Map<string, Value>();
  for (let at = 0, end = bytes.indexOf(LINE_FEED); end >= 0; at = end + 1, end = bytes.indexOf(LINE_FEED, at)) {
    try {
      const [key, value] = JSON.parse(bytes.toString('utf8', at, end)) as [string, Value | undefined];
      if (value === undefined) found.delete(key);
      else found.set(key, value);
    } catch {
      return found;
    }
  }
  return found;
}
