/**
 * A small table on disk that outlives a killed agent: the last value of each key. Values are appended line by line, and
 * the file is rewritten when most lines are out of date. Nothing waits for it and nothing is synced: it must survive
 * the end of the process, but not of the host, because everything it describes ends with the host. Values that arrive
 * while a write runs leave with the next one; of several values of a key only the last is written.
 */
import type { Disk, DiskFile } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';

/** Lines beyond twice the live ones at which the file is rewritten. */
const STALE_LINES_MAX = 1_000;
/**
 * Bytes beyond twice the live ones at which the file is rewritten, too: streamed values are among the lines, and many
 * of them have megabytes.
 */
const STALE_BYTES_MAX = 16 * 1024 * 1024;
/** Longest file in bytes. The live content is a fraction of this; a longer file was not written by an agent. */
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
  /** Bytes of the file when it was last rewritten. */
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
   * Reads the files of an earlier run and begins a new one. A line that was cut off, and everything after it, is
   * dropped. Never rejects: content that cannot be read counts as nothing, which is logged. If the disk takes no
   * writes, the next value tries again.
   */
  async open(): Promise<ReadonlyMap<string, Value>> {
    const left = await readKeyedLog<Value>(this.#path, this.#disk).catch((error: unknown) => {
      this.#logger.error(
        { err: error, path: this.#path },
        'the state of the previous run cannot be read: nothing of it is adopted',
      );
      return new Map<string, Value>();
    });
    for (const [key, value] of left) this.#live.set(key, value);
    await this.#renew().catch((error: unknown) => this.#reportFailure(error));
    this.#open = true;
    return left;
  }

  /** Returns the value of a key, even if it is not on disk yet. */
  get(key: string): Value | undefined {
    return this.#live.get(key);
  }

  /** Stores a value; it must not be changed afterwards. */
  set(key: string, value: Value): void {
    this.#live.set(key, value);
    this.#write(key);
  }

  delete(key: string): void {
    if (this.#live.delete(key)) this.#write(key);
  }

  /** Resolves when all values so far are in the file, or could not be written: then only the next run knows less. */
  async written(): Promise<void> {
    await this.#writing;
  }

  /** Closes the file. Nothing is written afterwards. */
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

  /**
   * Writes dirty keys until there are none. Never rejects: the agent runs without a disk, and only its next run
   * knows less.
   */
  async #writeAll(): Promise<void> {
    // Begins a moment later, so that all values of one message make one write.
    await Promise.resolve();
    while (this.#dirty.size > 0 && this.#open) {
      const keys = [...this.#dirty];
      this.#dirty.clear();
      try {
        if (!this.#file || this.#failed || this.#isStale(keys.length)) await this.#renew();
        else await this.#append(keys);
        this.#failed = false;
      } catch (error) {
        return this.#reportFailure(error);
      }
    }
  }

  /**
   * Returns true if most of the file is out of date: rewriting it costs less than what was added since the last time.
   */
  #isStale(lines: number): boolean {
    return (
      this.#lines + lines > 2 * this.#live.size + STALE_LINES_MAX ||
      this.#bytes > 2 * this.#freshBytes + STALE_BYTES_MAX
    );
  }

  #reportFailure(error: unknown): void {
    if (!this.#failed)
      this.#logger.warn(
        { err: error, path: this.#path },
        'the state of this agent was not written: a restart would lose it',
      );
    this.#failed = true;
  }

  async #append(keys: readonly string[]): Promise<void> {
    const text = keys.map((key) => lineOf(key, this.#live.get(key))).join('');
    await this.#file!.appendFile(text);
    this.#lines += keys.length;
    this.#bytes += Buffer.byteLength(text);
  }

  /** Rewrites the file: writes a new one beside it and then replaces it, so that there is always a complete one. */
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

/** Reads the content of such a file; empty if there is none. Rejects if it cannot be read. */
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

/** Parses line by line: the whole file may be longer than a string may be. */
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
