/**
 * Reports throttling and errors of links only once they last, and their end only once they stay away: a card at the
 * limit would otherwise open a new session every minute. Pure.
 */
import type { DriverFacts } from './driver-report.ts';

/** Samples in a row with a sign after which it is reported. */
const BEGIN_SAMPLES = 3;
/** Samples in a row without it after which its end is reported. */
const END_SAMPLES = 10;

/** One sign of a card. */
interface Throttling {
  /** Latest samples in a row: positive with it, negative without. */
  samples: number;
  isReported: boolean;
}

/** Throttling of a card by heat and by the power brake, and errors of its links. */
export type ThrottleHistory = Readonly<Record<'heat' | 'powerBrake' | 'linkErrors', Throttling>>;

const NEVER: Throttling = { samples: 0, isReported: false };

/**
 * Returns the history after another sample. `before`: `undefined` at the first. A sample without `linkErrors` says
 * nothing about the links.
 */
export function throttlingAfter(
  { heat, powerBrake, linkErrors }: Pick<DriverFacts, 'heat' | 'powerBrake' | 'linkErrors'>,
  before: ThrottleHistory | undefined,
): ThrottleHistory {
  return {
    heat: after(heat, before?.heat ?? NEVER),
    powerBrake: after(powerBrake, before?.powerBrake ?? NEVER),
    linkErrors:
      linkErrors === undefined ? (before?.linkErrors ?? NEVER) : after(linkErrors, before?.linkErrors ?? NEVER),
  };
}

function after(isSeen: boolean, { samples, isReported }: Throttling): Throttling {
  const now = isSeen ? Math.max(samples, 0) + 1 : Math.min(samples, 0) - 1;
  return { samples: now, isReported: isReported ? now > -END_SAMPLES : now >= BEGIN_SAMPLES };
}
