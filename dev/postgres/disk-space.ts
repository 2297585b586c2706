/** Warns of full disks under a data folder. On a full disk PostgreSQL stores neither jobs nor their outcomes. */
import { existsSync, realpathSync, statfsSync, statSync } from 'node:fs';

/**
 * Free space below which there is a warning, in bytes. With this much, PostgreSQL's log and the largest outputs of an
 * hour still fit.
 */
const FREE_BYTES_MIN = 1024 ** 3;
const MIB = 1024 ** 2;

/** Returns a warning for each disk under these folders that is nearly full. Missing folders are ignored. */
export function diskWarnings(folders: readonly string[], freeBytesMin = FREE_BYTES_MIN): string[] {
  const seen = new Set<number>();
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => {
      const path = realpathSync(folder);
      const { dev } = statSync(path);
      const { bavail, bsize } = statfsSync(path);
      if (seen.has(dev) || bavail * bsize >= freeBytesMin) return [];
      seen.add(dev);
      return [
        `The disk of ${path} is nearly full: ${Math.floor((bavail * bsize) / MIB)} MiB are free. Free some ` +
          'space: on a full disk jobs are rejected, and results wait on the agent until there is space again.',
      ];
    });
}
