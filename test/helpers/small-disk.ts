/** A small disk of a test's own, to be filled. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of 1 MB; undefined where none may be mounted. */
export function smallDisk(t: { teardown(fn: () => void): void }): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-full-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  t.teardown(() => {
    execFileSync('umount', [folder]);
  });
  return folder;
}

/** Leaves no room on it. */
export function fillDisk(folder: string): void {
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(join(folder, `filling-${bytes}`), Buffer.alloc(bytes));
    } catch {
      // It does not fit whole; the part that fits is now on the disk.
    }
  }
}
