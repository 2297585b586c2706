/**
 * Encodes the cursor of calls that change many jobs. It contains all that the next call needs, so that any replica can
 * serve it.
 */

import { isGroupId } from '../../domain/jobs/error-groups.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import { statesBefore } from '../../domain/jobs/job-state.ts';
import type { DomainError } from '../../domain/settings/errors.ts';
import { invalid, TIME_MS_MAX } from '../../domain/settings/fields.ts';
import type { JobRange } from '../../store/jobs/job-range.ts';
import type { JobWalk } from '../../store/jobs/job-walk.ts';
import { partsOf } from '../../store/jobs/job-walk.ts';

const TEXT_LENGTH_MAX = 1_024;

/** Returns the cursor. Empty if the walk is finished. */
export function cursorOf(walk: JobWalk | undefined): string {
  if (!walk) return '';
  const { endpointId, move, states, submitted, ended, range, begunUs, part, left, hasMoved } = walk;
  const { fromMs = null, untilMs = null } = submitted ?? {};
  const parts: unknown[] = [
    endpointId,
    move,
    states,
    fromMs,
    untilMs,
    range.low,
    range.high,
    begunUs,
    part,
    left.low,
    left.high,
    hasMoved,
  ];
  // Only added if needed: a replica of an earlier release, which would ignore it, then rejects only such cursors.
  if (ended) parts.push(ended.fromMs ?? null, ended.errorGroup ?? null);
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/**
 * Decodes a cursor. Throws INVALID_REQUEST if no call of this kind for this endpoint returned it. A forged cursor can
 * only change other jobs of the same endpoint.
 */
export function walkFrom(cursor: string, endpointId: string, move: JobWalk['move']): JobWalk {
  const parts = decode(cursor);
  const [of, by, states, fromMs, untilMs, low, high, begunUs, part, leftLow, leftHigh, hasMoved, ...more] = parts;
  if (
    parts.length < 12 ||
    of !== endpointId ||
    by !== move ||
    !areStates(states, move) ||
    typeof hasMoved !== 'boolean'
  )
    throw badCursor();
  const times = [fromMs, untilMs].map((ms) => (ms === null ? undefined : numberIn(ms, TIME_MS_MAX)));
  const range = (from: unknown, until: unknown): JobRange => ({ low: numberIn(from), high: numberIn(until) });
  return {
    endpointId,
    move,
    states,
    submitted: times.some((ms) => ms !== undefined) ? { fromMs: times[0], untilMs: times[1] } : undefined,
    range: range(low, high),
    begunUs: numberIn(begunUs),
    part: numberIn(part, partsOf(states).length - 1),
    left: range(leftLow, leftHigh),
    hasMoved,
    ...endedOf(more, move),
  };
}

/** Returns the filter by end. Absent in cursors of earlier releases. */
function endedOf(more: unknown[], move: JobWalk['move']): Pick<JobWalk, 'ended'> {
  const [fromMs, errorGroup] = more;
  if (more.length === 0) return {};
  const isGroup = errorGroup === null || (typeof errorGroup === 'string' && isGroupId(errorGroup));
  if (more.length !== 2 || move !== 'retry' || !isGroup) throw badCursor();
  return {
    ended: { fromMs: fromMs === null ? undefined : numberIn(fromMs, TIME_MS_MAX), errorGroup: errorGroup ?? undefined },
  };
}

function decode(cursor: string): unknown[] {
  const text =
    cursor.length <= TEXT_LENGTH_MAX && /^[\w-]+$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : '';
  try {
    const parts = JSON.parse(text) as unknown;
    if (Array.isArray(parts)) return parts;
  } catch {
    // Said below.
  }
  throw badCursor();
}

function areStates(states: unknown, move: JobWalk['move']): states is JobState[] {
  const known: readonly unknown[] = statesBefore(move);
  return (
    Array.isArray(states) &&
    states.length > 0 &&
    states.length <= known.length &&
    states.every((state) => known.includes(state))
  );
}

function numberIn(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max) throw badCursor();
  return value;
}

function badCursor(): DomainError {
  return invalid('cursor is none that such a call for this endpoint gave; leave it out to begin');
}
