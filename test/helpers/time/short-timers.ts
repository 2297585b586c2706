/**
 * Divides the times by which parts repeat, forget and notice dead connections (proto/wire/link-timers.ts) by ten, in
 * this process and in those of ours that it starts. Must be the first import of a test file: what is loaded before has
 * read them.
 */
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { requireDeclared } from '../declared.ts';

/** What they are divided by. */
export const DIVISOR = 10;

requireDeclared('alone');
for (const name of Object.keys(LINK_TIMERS) as (keyof typeof LINK_TIMERS)[]) LINK_TIMERS[name] /= DIVISOR;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${import.meta.url}`;
