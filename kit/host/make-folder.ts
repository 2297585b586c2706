/** Creates a folder together with its missing parents. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Returns the created ones, topmost first; none if the folder exists. Throws
 * if it cannot be read and written. Node's recursive mkdir is not used: it loops forever below /proc, where the kernel
 * reports a folder as missing whose parent exists.
 */
export function makeFolder(path: string, mode: number): string[] {
  const missing: string[] = [];
  let above = path;
  while (!statSync(above, { throwIfNoEntry: false })) {
    missing.unshift(above);
    above = dirname(above);
  }
  if (!statSync(above).isDirectory()) throw new Error(`${above} is not a folder`);
  for (const folder of missing) make(folder, mode);
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return missing;
}

function make(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it first.
    if (
      (error as NodeJS.ErrnoException).code !== 'EEXIST' ||
      !statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    )
      throw error;
  }
}
