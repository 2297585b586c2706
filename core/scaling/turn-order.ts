/** In which order endpoints that need a turn have theirs. Pure. */
import type { WorkerSample } from '../domain/scaler.ts';

/** As much of an endpoint as that depends on. */
export interface WaitingTurn {
  endpoint: { id: string; accountId: string };
  sample: { demand: { workers: readonly Pick<WorkerSample, 'desired'>[] } };
}

/** Who has no worker goes first, and accounts take turns: one that has much to do keeps no other waiting for long. Answers their ids. */
export function inTurn(due: readonly WaitingTurn[]): string[] {
  const places = new Map<string, number>();
  const waiting = due.map(({ endpoint, sample }) => {
    const place = places.get(endpoint.accountId) ?? 0;
    places.set(endpoint.accountId, place + 1);
    return { id: endpoint.id, place, first: sample.demand.workers.every(({ desired }) => desired !== 'RUN') };
  });
  return waiting.toSorted((a, b) => Number(b.first) - Number(a.first) || a.place - b.place).map(({ id }) => id);
}
