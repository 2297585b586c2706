/**
 * How long workers of load-balancing endpoints are known to be idle. What they have is told by facades and edges; after a start or an outage of core these
 * need a while to come back, and until then a worker of which nobody speaks may be in the middle of a request. Pure.
 */
import type { DecisionSample } from './scale-decision.ts';

/** Returns the sample with idle times of at most `knownMs`; that of a queue as it is, whose jobs core knows by itself. */
export function withKnownIdleness<Sample extends DecisionSample>(sample: Sample, knownMs: number): Sample {
  const { demand, settings } = sample;
  if (settings.requests !== true || demand.workers.every(({ idleMs }) => idleMs <= knownMs)) return sample;
  return { ...sample, demand: { ...demand, workers: demand.workers.map((worker) => ({ ...worker, idleMs: Math.min(worker.idleMs, knownMs) })) } };
}
