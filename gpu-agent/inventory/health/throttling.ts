/**
 * Reports throttling only once it lasts, and its end only once it stays away: a card at the edge would otherwise open a
 * new session every minute. Pure.
 */
import type { DriverFacts } from './driver-report.ts';

/** Looks in a row after which throttling counts. */
const BEGIN_LOOKS = 3;
/** Looks without it after which it has ended. */
const END_LOOKS = 10;

/** Looks in a row with (positive) or without (negative) a kind of throttling, and whether it counts. */
interface Course {
  looks: number;
  counts: boolean;
}

/** Courses of heat and of the power brake of a card. */
export type ThrottleHistory = Readonly<Record<'heat' | 'powerBrake', Course>>;

const NEVER: Course = { looks: 0, counts: false };

/** Returns the course after another look. `before`: `undefined` at the first. */
export function throttlingAfter(
  { heat, powerBrake }: Pick<DriverFacts, 'heat' | 'powerBrake'>,
  before: ThrottleHistory | undefined,
): ThrottleHistory {
  return { heat: after(heat, before?.heat ?? NEVER), powerBrake: after(powerBrake, before?.powerBrake ?? NEVER) };
}

function after(isSeen: boolean, { looks, counts }: Course): Course {
  const now = isSeen ? Math.max(looks, 0) + 1 : Math.min(looks, 0) - 1;
  return { looks: now, counts: counts ? now > -END_LOOKS : now >= BEGIN_LOOKS };
}
