/** Folders for data of PostgreSQL, whose own user must be able to pass when the tests run as root. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Returns a new folder, removed when the test ends. */
export async function openFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-open-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  return folder;
}
