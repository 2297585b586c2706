/**
 * How long workers of load-balancing endpoints are known to be idle. Facades and edges report their requests. After a
 * start or an outage of core they need a while to reconnect. Until then a worker without a report may be serving a
 * request. Pure.
 */
import type { DecisionSample } from './scale-decision.ts';

/**
 * Returns the sample with idle times of at most `knownMs`. Samples of queue endpoints are unchanged, as core knows
 * their jobs itself.
 */
export function withKnownIdleness<Sample extends DecisionSample>(sample: Sample, knownMs: number): Sample {
  const { demand, settings } = sample;
  if (settings.requests !== true || demand.workers.every(({ idleMs }) => idleMs <= knownMs)) return sample;
  return {
    ...sample,
    demand: {
      ...demand,
      workers: demand.workers.map((worker) => ({ ...worker, idleMs: Math.min(worker.idleMs, knownMs) })),
    },
  };
}
