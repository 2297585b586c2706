/** Running workers of an endpoint that are offloaded if others find no GPU. Pure. */

import { expectedOffloadMs, expectedRestoreMs } from '../machines/standby.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';

/** Shortest time that a busy worker keeps its GPU against others, in milliseconds, and as a multiple of its moves. */
const TURN_MS = 5_000;
const TURN_FACTOR = 2;

/**
 * Returns the workers of an endpoint that may be offloaded for others: idle ones above workersMin at once, busy ones
 * after their turn, so that endpoints that always have jobs share a GPU. A busy one finishes its jobs first.
 */
export function movableWorkers(
  { queued, workers }: ScaleSample,
  { flashBoot, standby, workersMin }: Pick<ScaleSettings, 'flashBoot' | 'standby' | 'workersMin'>,
): WorkerSample[] {
  if (!flashBoot || standby === 'GPU') return [];
  const present = workers.filter(({ desired }) => desired === 'RUN');
  const ready = present.filter(({ state, gpus, reachable }) => state === 'READY' && gpus > 0 && reachable);
  const isIdle = ({ held }: WorkerSample): boolean => held === 0 && queued === 0;
  const order = ready
    .filter((worker) => isIdle(worker) || worker.ageMs >= turnMs(worker))
    .toSorted((a, b) => Number(isIdle(b)) - Number(isIdle(a)) || b.idleMs - a.idleMs);
  return order.slice(0, Math.max(present.length - workersMin, 0));
}

function turnMs({ gpuBytes = 0 }: WorkerSample): number {
  return Math.max(TURN_MS, TURN_FACTOR * (expectedOffloadMs(gpuBytes) + expectedRestoreMs(gpuBytes)));
}
