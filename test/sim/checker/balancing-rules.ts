/** Rules over load balancing: facades know which workers are ready. */
import type { BalancingEvent, Violation } from './history.ts';

/**
 * A facade may send requests to a worker for so long after it was ready, in milliseconds: while it cannot reach core it
 * uses what it has. Without faults it knows within seconds.
 */
const GONE_MS_MAX = 30_000;
/** Requests may wait beside a ready worker for so long in calm, in milliseconds: a half-open stream is noticed. */
const HELD_MS_MAX = 20_000;

/** Returns what is wrong with an event. */
export function ofBalancing(event: BalancingEvent): Violation[] {
  if (event.is === 'forwarded') {
    if (event.goneForMs <= GONE_MS_MAX) return [];
    const text = `${event.facade} sends a request to ${event.worker}, which was ready ${event.goneForMs} ms ago`;
    return [{ rule: 'requests go to workers that are there', job: '', text }];
  }
  if (event.is === 'held') {
    if (event.ms <= HELD_MS_MAX) return [];
    const text = `requests have waited at ${event.facade} for ${event.ms} ms`;
    return [{ rule: 'no request waits beside a ready worker', job: '', text }];
  }
  const { facade, has, truth } = event;
  if (has.join() === truth.join()) return [];
  const text = `${facade} sends requests to ${has.join(', ')}, and ready are ${truth.join(', ')}`;
  return [{ rule: 'endpoint snapshots are true', job: '', text }];
}
