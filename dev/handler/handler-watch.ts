/**
 * Watches a handler's files for changes. The system reports changes in their folders, so a file that an editor replaces
 * counts like a file that it writes. Where the system cannot watch folders, the files are read once a second. A file
 * has changed if its content differs.
 */
import { createHash } from 'node:crypto';
import type { FSWatcher } from 'node:fs';
import { existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { handlerFiles } from './handler-files.ts';

/**
 * Time between two reads, in milliseconds. A change counts once two reads in a row are the same, because editors and
 * git write in several steps.
 */
const SETTLE_MS = 150;
/**
 * Longest time between two reads without a notification, in milliseconds. Some network folders send none. The second
 * value applies where no folder can be watched.
 */
const POLL_MS = 5_000;
const POLL_UNWATCHED_MS = 1_000;

const REQUIREMENTS = 'requirements.txt';

/** Settings of a watch. */
interface HandlerWatchOptions {
  handler: string;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the paths of the changed files. The next change waits until it resolves. Must not reject. */
  onChanged(files: readonly string[]): Promise<void>;
}

/** Content of each file, by path. */
type Snapshot = ReadonlyMap<string, string>;

/** Watches until the signal aborts. Rejects if `onChanged` rejects. */
export async function watchHandler({ handler, clock, signal, onChanged }: HandlerWatchOptions): Promise<void> {
  const folders = new FolderWatches();
  try {
    let known = takeSnapshot(handler);
    while (!signal.aborted) {
      folders.follow([...known.keys()]);
      await folders.changed(clock, signal);
      const seen = takeSnapshot(handler);
      if (signal.aborted || differences(known, seen).length === 0) continue;
      const stable = await untilStable(handler, seen, clock, signal);
      const changed = stable ? differences(known, stable) : [];
      if (!stable || changed.length === 0) continue;
      known = stable;
      await onChanged(changed);
    }
  } finally {
    folders.close();
  }
}

/**
 * Returns the first of two reads in a row that are the same and contain the handler itself; `undefined` after a stop.
 */
async function untilStable(
  handler: string,
  first: Snapshot,
  clock: Clock,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  for (let before = first; !signal.aborted; ) {
    await delay(clock, SETTLE_MS, signal);
    const now = takeSnapshot(handler);
    if (now.has(handler) && differences(before, now).length === 0) return now;
    before = now;
  }
  return undefined;
}

/** Reads the files as they are now. The requirements.txt beside a Python handler is one of them. */
function takeSnapshot(handler: string): Snapshot {
  const files = handlerFiles(handler);
  if (handler.endsWith('.py')) files.push(join(dirname(handler), REQUIREMENTS));
  return new Map(
    files.flatMap((file) => {
      try {
        return [[file, createHash('sha256').update(readFileSync(file)).digest('hex')] as const];
      } catch {
        return [];
      }
    }),
  );
}

function differences(before: Snapshot, after: Snapshot): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file));
}

/** Watches of the folders that hold some files. */
class FolderWatches {
  readonly #watchers = new Map<string, FSWatcher>();
  #names = new Set<string>();
  #complete = true;
  #hinted = false;
  #interrupt: () => void = () => undefined;

  /** Watches the folders of these files and stops all other watches. */
  follow(files: readonly string[]): void {
    this.#names = new Set([...files.map((file) => basename(file)), REQUIREMENTS]);
    const folders = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers)
      if (!folders.has(folder) || !existsSync(folder)) this.#drop(folder, watcher);
    this.#complete = true;
    for (const folder of folders) this.#watch(folder);
  }

  /** Resolves when something may have changed, and at intervals without a notification. */
  async changed(clock: Clock, signal: AbortSignal): Promise<void> {
    const interrupted = new AbortController();
    this.#interrupt = () => interrupted.abort();
    if (!this.#hinted)
      await delay(clock, this.#complete ? POLL_MS : POLL_UNWATCHED_MS, AbortSignal.any([signal, interrupted.signal]));
    this.#hinted = false;
  }

  close(): void {
    for (const [folder, watcher] of this.#watchers) this.#drop(folder, watcher);
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name !== null && !this.#names.has(name)) return;
        this.#hinted = true;
        this.#interrupt();
      });
      watcher.on('error', () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // The system allows no more watches, or the folder cannot be watched.
      this.#complete = false;
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watchers.delete(folder);
  }
}
