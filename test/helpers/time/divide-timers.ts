/** Divides the times by which parts retry, expire records and detect dead connections (proto/wire/link-timers.ts). */
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { requireDeclared } from '../declared.ts';

/** Divides them in this process, and in Slipway's processes that it starts, which load the module at `url`. */
export function divideTimers(divisor: number, url: string): void {
  requireDeclared('alone');
  for (const name of Object.keys(LINK_TIMERS) as (keyof typeof LINK_TIMERS)[]) LINK_TIMERS[name] /= divisor;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${url}`;
}
