/**
 * Passes secrets to the processes of this machine by files that only their owner can read. The environment of a process
 * can be read by every process of the same user, and its command line by everyone.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes one file for each variable. Returns the variables to set: `NAME_FILE` with the file's path, and NAME itself as
 * empty, whatever was inherited.
 */
export function secretFiles(
  folder: string,
  secrets: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const variables = Object.entries(secrets).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const file = join(
      folder,
      name
        .replace(/^SLIPWAY_/, '')
        .toLowerCase()
        .replaceAll('_', '-'),
    );
    writeFileSync(`${file}.part`, value, { mode: 0o600 });
    renameSync(`${file}.part`, file);
    return [
      [name, undefined],
      [`${name}_FILE`, file],
    ];
  });
  return Object.fromEntries(variables) as Record<string, string | undefined>;
}
