/** CUDA versions as clients name them (compat.md 3.4). */

/** What `minCudaVersion` chooses from, newest first. */
const VERSIONS = ['13.0', '12.9', '12.8', '12.7', '12.6', '12.5', '12.4', '12.3', '12.2', '12.1', '12.0', '11.8'];

/** This version and all newer ones. One that is not in the list stands for itself, and core refuses what is no version. */
export function versionsFrom(lowest: string): string[] {
  const newerOrSame = VERSIONS.filter((version) => compare(version, lowest) >= 0);
  return newerOrSame.length > 0 ? newerOrSame : [lowest];
}

/** The lowest of some versions; null for none. */
export function lowestVersion(versions: readonly string[]): string | null {
  return versions.toSorted(compare)[0] ?? null;
}

/** Part by part as numbers: 12.10 is newer than 12.9. */
function compare(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
