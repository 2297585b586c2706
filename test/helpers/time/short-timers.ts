/**
 * Divides by ten the times by which parts retry, expire records and detect dead connections. Must be the first import
 * of a test file: modules loaded earlier have already read the times.
 */
import { divideTimers } from './divide-timers.ts';

/** Divisor of the times. */
export const DIVISOR = 10;

divideTimers(DIVISOR, import.meta.url);
