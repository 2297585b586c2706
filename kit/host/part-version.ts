/**
 * Versions of the parts of an installation: how a part names its own in a gRPC call, and which versions serve each
 * other. Parts are replaced one by one, so that neighbouring releases must work together (docs/operate/operations.md).
 */

/** A kind of part and its version. */
export interface PartVersion {
  /** Kind of part, for instance `facade`. */
  name: string;
  /** Version of its package: three numbers, perhaps with a suffix. */
  version: string;
}

/** Whether a part of one version serves a part of another one. */
export type ServedState = 'SERVED' | 'TOO_OLD' | 'TOO_NEW';

const USER_AGENT = /^slipway-([a-z]{2,16})\/(\d{1,5}\.\d{1,5}\.\d{1,5}[\w.-]{0,32})(?: |$)/;
const RELEASE = /^(\d{1,5})\.(\d{1,5})\.\d/;

/** Returns the text with which a part begins its user agent. */
export function userAgentOf({ name, version }: PartVersion): string {
  return `slipway-${name}/${version}`;
}

/** Returns the part that a user agent names; `undefined` if it is no part of Slipway. */
export function partOfUserAgent(userAgent: string): PartVersion | undefined {
  const [, name, version] = USER_AGENT.exec(userAgent) ?? [];
  return name === undefined || version === undefined ? undefined : { name, version };
}

/**
 * Returns whether `own` serves `other`. Releases that are one minor number apart serve each other; patch numbers do not
 * count. A text that is no version counts as served: nothing is known against it.
 */
export function partSupport(own: string, other: string): ServedState {
  const [ownRelease, otherRelease] = [releaseOf(own), releaseOf(other)];
  if (!ownRelease || !otherRelease) return 'SERVED';
  const majors = otherRelease.major - ownRelease.major;
  const minors = otherRelease.minor - ownRelease.minor;
  if (majors === 0 && Math.abs(minors) <= 1) return 'SERVED';
  return (majors || minors) < 0 ? 'TOO_OLD' : 'TOO_NEW';
}

function releaseOf(version: string): { major: number; minor: number } | undefined {
  const [, major, minor] = RELEASE.exec(version) ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}
