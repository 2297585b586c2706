/**
 * Notices that a handler's files changed. The system tells of changes in their folders, in which a file that an editor
 * replaces by another is the same as one that it writes; where the system cannot, they are looked at once a second.
 * What was changed is what reads differently.
 */
import { createHash } from 'node:crypto';
import type { FSWatcher } from 'node:fs';
import { existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { handlerFiles } from './handler-files.ts';

/**
 * A change counts when two looks this far apart, in milliseconds, see the same: editors and git write in several steps.
 */
const SETTLE_MS = 150;
/** A look without a hint, in milliseconds: some network folders tell nothing. And where no folder can be watched. */
const LOOK_MS = 5_000;
const LOOK_UNWATCHED_MS = 1_000;

const REQUIREMENTS = 'requirements.txt';

/** What is watched and who is told. */
export interface HandlerWatchOptions {
  handler: string;
  clock: Clock;
  signal: AbortSignal;
  /** Told of the changed files, by path; the next change waits until it resolves. Must not reject. */
  onChanged(files: readonly string[]): Promise<void>;
}

/** File by path and what it held. */
type Look = ReadonlyMap<string, string>;

/** Watches until the signal aborts; rejects when `onChanged` does. */
export async function watchHandler({ handler, clock, signal, onChanged }: HandlerWatchOptions): Promise<void> {
  const folders = new FolderWatches();
  try {
    let known = look(handler);
    while (!signal.aborted) {
      folders.follow([...known.keys()]);
      await folders.changed(clock, signal);
      const seen = look(handler);
      if (signal.aborted || differences(known, seen).length === 0) continue;
      const settled = await settle(handler, seen, clock, signal);
      const changed = settled ? differences(known, settled) : [];
      if (!settled || changed.length === 0) continue;
      known = settled;
      await onChanged(changed);
    }
  } finally {
    folders.close();
  }
}

/** The first of two looks in a row that are the same and see the handler itself; undefined after a stop. */
async function settle(handler: string, first: Look, clock: Clock, signal: AbortSignal): Promise<Look | undefined> {
  for (let before = first; !signal.aborted; ) {
    await delay(clock, SETTLE_MS, signal);
    const now = look(handler);
    if (now.has(handler) && differences(before, now).length === 0) return now;
    before = now;
  }
  return undefined;
}

/** The files as they are now; requirements.txt beside a Python handler counts as one of them. */
function look(handler: string): Look {
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

function differences(before: Look, after: Look): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file));
}

/** Watches of the folders of some files. */
class FolderWatches {
  readonly #watchers = new Map<string, FSWatcher>();
  #names = new Set<string>();
  #complete = true;
  #hinted = false;
  #wakeUp: () => void = () => undefined;

  /** Watches the folders of these files, and of no others. */
  follow(files: readonly string[]): void {
    this.#names = new Set([...files.map((file) => basename(file)), REQUIREMENTS]);
    const folders = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers)
      if (!folders.has(folder) || !existsSync(folder)) this.#drop(folder, watcher);
    this.#complete = true;
    for (const folder of folders) this.#watch(folder);
  }

  /** Resolves when something may have changed, and now and then without a hint. */
  async changed(clock: Clock, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    if (!this.#hinted)
      await delay(clock, this.#complete ? LOOK_MS : LOOK_UNWATCHED_MS, AbortSignal.any([signal, woken.signal]));
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
        this.#wakeUp();
      });
      watcher.on('error', () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // No more of them may be had, or the folder cannot be watched.
      this.#complete = false;
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    this.#watchers.delete(folder);
  }
}
