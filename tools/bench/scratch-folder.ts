/** Folders of one run, for the data of its programs. They are removed when this process ends, however it ends. */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Waits until the pipe to this process is closed and removes the folder. Programs of the run end a little later and may
 * write once more, so it looks again for ten seconds.
 */
const REMOVE = `
read -r line
for pause in 2 2 2 2 2; do sleep "$pause"; rm -rf -- "$1"; done
`;

let parent: string | undefined;

/** Makes an empty folder. */
export async function scratchFolder(prefix: string): Promise<string> {
  parent ??= guardedFolder();
  return await mkdtemp(join(parent, prefix));
}

function guardedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'slw-bench-'));
  // A separate session: a signal to the group of this process must not end it.
  const guard = spawn('/bin/sh', ['-c', REMOVE, 'sh', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  guard.stdin.on('error', () => undefined);
  (guard.stdin as unknown as { unref(): void }).unref();
  return folder;
}
