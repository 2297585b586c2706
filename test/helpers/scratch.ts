/** Files that synchronize a test with a handler: the test opens a gate for it, and the handler signals that it runs. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PATIENCE_MS, waitFor } from './time/wait-for.ts';

/** Makes a folder that is removed when the test ends. */
export async function scratch(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-scratch-'));
  // A process that is being ended may still write there.
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const path = (name: string): string => join(folder, name);
  const lines = (name: string): string[] =>
    existsSync(path(name)) ? readFileSync(path(name), 'utf8').split('\n').slice(0, -1) : [];
  return {
    folder,
    path,
    /** Releases a handler that waits for this file. */
    open: (name: string): void => writeFileSync(path(name), ''),
    /** Makes a folder for such files. */
    makeFolder: (name: string): void => {
      mkdirSync(path(name));
    },
    /** Lines of a file; none if it does not exist. */
    lines,
    /** Waits for the first line that a handler writes into this file. */
    noted: (name: string): Promise<string> => waitFor(`a note in ${name}`, () => lines(name)[0]),
    /** Waits for `count` lines in this file. */
    notes: (name: string, count: number, timeoutMs = PATIENCE_MS): Promise<string[]> =>
      waitFor(`${count} notes in ${name}`, () => lines(name).length >= count && lines(name), timeoutMs),
  };
}

/** Returns true if a process runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
