/**
 * A small table on disk that outlives a killed agent: the last value of each key, appended line by line and written anew when most lines are
 * out of date. Nothing waits for it and nothing is synced: it must survive the end of a process, not of the host, with which all that it tells
 * of ends too. What is written while a write runs leaves with the next one, and of several values of a key only the last.
 */
import { machineDisk } from '../../core/runtime/disk.ts';
import type { Disk, DiskFile } from '../../core/runtime/disk.ts';
import type { Logger } from '../../core/runtime/logger.ts';

/** Lines beyond twice the live ones at which the file is written anew. */
const STALE_LINES_MAX = 1_000;
/** Values are small; a file beyond this was not written by an agent. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

export class KeyedLog<Value> {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #disk: Disk;
  readonly #live = new Map<string, Value>();
  /** Keys whose last value is not on disk. */
  readonly #dirty = new Set<string>();
  #file: DiskFile | undefined;
  #lines = 0;
  #writing: Promise<void> | undefined;
  #failed = false;
  #open = false;

  constructor({ path, logger, disk = machineDisk }: { path: string; logger: Logger; disk?: Disk | undefined }) {
    this.#path = path;
    this.#logger = logger;
    this.#disk = disk;
  }

  /**
   * Reads what an earlier run left and begins a file of its own. A line that was cut off, and whatever follows it, is dropped. Never rejects:
   * on a disk that takes nothing it tries again with the next value.
   */
  async open(): Promise<ReadonlyMap<string, Value>> {
    const left = await readKeyedLog<Value>(this.#path, this.#disk);
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

  /** Resolves when all that was said so far is in the file, or could not be written: then only the next run knows less. */
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
    this.#writing ??= this.#writeAll().finally(() => { this.#writing = undefined; });
  }

  /** Never rejects: without a disk the agent goes on, and only its next run knows less. */
  async #writeAll(): Promise<void> {
    // Begins a moment later, so that what one message brings is one write.
    await Promise.resolve();
    while (this.#dirty.size > 0 && this.#open) {
      const keys = [...this.#dirty];
      this.#dirty.clear();
      try {
        if (!this.#file || this.#failed || this.#lines + keys.length > 2 * this.#live.size + STALE_LINES_MAX) await this.#renew();
        else await this.#append(keys);
        this.#failed = false;
      } catch (error) {
        return this.#complain(error);
      }
    }
  }

  #complain(error: unknown): void {
    if (!this.#failed) this.#logger.warn({ err: error, path: this.#path }, 'what this agent holds was not written down: a restart would lose it');
    this.#failed = true;
  }

  async #append(keys: readonly string[]): Promise<void> {
    await this.#file!.appendFile(keys.map((key) => lineOf(key, this.#live.get(key))).join(''));
    this.#lines += keys.length;
  }

  /** Beside the old one and then in its place, so that there is always a whole one. */
  async #renew(): Promise<void> {
    const lines = [...this.#live].map(([key, value]) => lineOf(key, value));
    const file = await this.#disk.open(`${this.#path}.new`, 'w', 0o600);
    try {
      await file.appendFile(lines.join(''));
      await this.#disk.rename(`${this.#path}.new`, this.#path);
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#lines = lines.length;
  }
}

/** What is in such a file, whoever writes it; nothing when there is none. */
export async function readKeyedLog<Value>(path: string, disk: Disk = machineDisk): Promise<Map<string, Value>> {
  return readLines<Value>(String(await disk.readFile(path).catch(() => '')));
}

function lineOf(key: string, value: unknown): string {
  return `${JSON.stringify(value === undefined ? [key] : [key, value])}\n`;
}

function readLines<Value>(text: string): Map<string, Value> {
  const found = new Map<string, Value>();
  if (text.length > FILE_BYTES_MAX) return found;
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      const [key, value] = JSON.parse(line) as [string, Value | undefined];
      if (value === undefined) found.delete(key);
      else found.set(key, value);
    } catch {
      return found;
    }
  }
  return found;
}
