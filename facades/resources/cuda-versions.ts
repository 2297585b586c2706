/** CUDA versions as clients name them (docs/reference/management.md#endpoints). */

/** Values of `minCudaVersion`, newest first. */
export const KNOWN_CUDA_VERSIONS = [
  '13.0',
  '12.9',
  '12.8',
  '12.7',
  '12.6',
  '12.5',
  '12.4',
  '12.3',
  '12.2',
  '12.1',
  '12.0',
  '11.8',
];

const VERSION = /^\d+\.\d+$/;

/**
 * Returns this version and all newer ones. A version that is newer than the list is returned alone, and so is an
 * invalid text, which core rejects.
 */
export function versionsFrom(lowest: string): string[] {
  if (!VERSION.test(lowest)) return [lowest];
  const newerOrSame = KNOWN_CUDA_VERSIONS.filter((version) => compare(version, lowest) >= 0);
  return newerOrSame.length > 0 ? newerOrSame : [lowest];
}

/** Returns the lowest version, or null for an empty list. */
export function lowestVersion(versions: readonly string[]): string | null {
  return versions.toSorted(compare)[0] ?? null;
}

/** Returns whether a version is equal to or newer than another. */
export function isCudaAtLeast(version: string, lowest: string): boolean {
  return compare(version, lowest) >= 0;
}

/** Compares two versions by their numbers: 12.10 is newer than 12.9. */
function compare(a: string, b: string): number {
  const [major = 0, minor = 0] = a.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = b.split('.').map(Number);
  return major - otherMajor || minor - otherMinor;
}
