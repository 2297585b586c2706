/**
 * As short-timers.ts, but divides by five: for connections that must be open again before the other side forgets, on a
 * busy machine too.
 */
import { divideTimers } from './divide-timers.ts';

/** Divisor of the times. */
export const DIVISOR = 5;

divideTimers(DIVISOR, import.meta.url);
