/** In which order endpoints that need a turn have theirs. Pure. */
import type { WorkerSample } from '../domain/scaler.ts';

/** As much of an endpoint as that depends on. */
export interface WaitingTurn {
  endpoint: { id: string; accountId: string };
  sample: { demand: { workers: readonly Pick<WorkerSample, 'desired'>[] } };
}

/** Turns that are taken together: one look at all machines serves so many. */
const TOGETHER_MAX = 24;
/** Of these as many are kept for endpoints that have workers and want more, so that others' first workers never keep them waiting for good. */
const MORE_KEPT = 6;

/** Who has no worker goes first, and accounts take turns: one that has much to do keeps no other waiting for long. */
function inTurn(due: readonly WaitingTurn[]): { id: string; first: boolean }[] {
  const places = new Map<string, number>();
  const waiting = due.map(({ endpoint, sample }) => {
    const place = places.get(endpoint.accountId) ?? 0;
    places.set(endpoint.accountId, place + 1);
    return { id: endpoint.id, place, first: sample.demand.workers.every(({ desired }) => desired !== 'RUN') };
  });
  return waiting.toSorted((a, b) => Number(b.first) - Number(a.first) || a.place - b.place);
}

/** The ids of those whose turns are next, in their order. */
export function nextTurns(due: readonly WaitingTurn[]): string[] {
  const [first = [], more = []] = [true, false].map((isFirst) => inTurn(due).filter((one) => one.first === isFirst));
  const room = TOGETHER_MAX - Math.min(more.length, MORE_KEPT);
  return [...first.slice(0, room), ...more].slice(0, TOGETHER_MAX).map(({ id }) => id);
}
