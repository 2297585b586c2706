/** Folders for data of PostgreSQL, whose own user must be able to pass when the tests run as root. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Returns a new folder in `parent`, removed when the test ends. */
export async function openFolder(t: Test, parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, 'slipway-open-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  return folder;
}
