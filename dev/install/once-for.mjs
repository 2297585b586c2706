/** Work that is done once for a state of files. Plain JavaScript for any Node from 20 up, like bootstrap.mjs. */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Adds size and time of every file below a path to a hash. */
function addFiles(hash, root, path, foldersOnly) {
  const entry = lstatSync(join(root, path), { throwIfNoEntry: false });
  hash.update(`${path} ${entry?.size} ${entry?.mtimeMs}\n`);
  if (!entry?.isDirectory()) return;
  for (const child of childrenOf(join(root, path))) {
    if (child.isDirectory() || !foldersOnly) addFiles(hash, root, `${path}/${child.name}`, foldersOnly);
  }
}

/** Returns the entries of a folder. Another start may have removed the folder meanwhile, to build it again. */
function childrenOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Does the work unless it was done before and nothing below the paths, nor an installed package, has changed since.
 * `foldersOnly`: a change of a file's content does not count, only added, removed and replaced files do. A failed work
 * throws or ends the process, and is done again.
 */
export async function onceFor({ root, name, paths, foldersOnly = false }, work) {
  const fingerprint = () => {
    const hash = createHash('sha256');
    for (const path of [...paths, 'node_modules/.package-lock.json']) addFiles(hash, root, path, foldersOnly);
    return hash.digest('hex');
  };
  const stamp = join(root, 'node_modules', `.slipway-${name}`);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint()) return;
  await work();
  try {
    // The work has changed files itself.
    writeFileSync(stamp, fingerprint());
  } catch {
    // This user cannot change the packages: the work is done at every start.
  }
}
