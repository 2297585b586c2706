/**
 * Divides by ten the times by which parts retry, expire records and detect dead connections
 * (proto/wire/link-timers.ts), in this process and in Slipway's processes that it starts. Must be the first import of a
 * test file: modules loaded earlier have already read the times.
 */
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { requireDeclared } from '../declared.ts';

/** Divisor of the times. */
export const DIVISOR = 10;

requireDeclared('alone');
for (const name of Object.keys(LINK_TIMERS) as (keyof typeof LINK_TIMERS)[]) LINK_TIMERS[name] /= DIVISOR;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${import.meta.url}`;
