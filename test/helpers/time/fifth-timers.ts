/**
 * Like short-timers.ts, but divides by five. For tests whose connections must reopen before the other side drops their
 * state, also on a busy machine.
 */
import { divideTimers } from './divide-timers.ts';

/** Divisor of the times. */
export const DIVISOR = 5;

divideTimers(DIVISOR, import.meta.url);
