/** Texts for the load of a GPU, and of a worker. */
import type { WorkerView } from '../../../views.ts';
import type { GpuLoadView } from '../../../views-of-gpus.ts';
import { mib, share } from '../lib/format.ts';

/**
 * Returns the known figures as `87 %, 61.2 of 139.9 GiB, 54 °C, 402 W`. Without `memoryMib` the total memory is left
 * out.
 */
export function loadText(
  { utilization, memoryUsedMib, temperatureCelsius, powerWatts }: GpuLoadView,
  memoryMib?: number,
): string {
  return [
    utilization === null ? '' : share(utilization),
    memoryUsedMib === null ? '' : `${mib(memoryUsedMib)}${memoryMib === undefined ? '' : ` of ${mib(memoryMib)}`}`,
    temperatureCelsius === null ? '' : `${temperatureCelsius}\u00A0°C`,
    powerWatts === null ? '' : `${Math.round(powerWatts)}\u00A0W`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns the load of a worker's GPUs: mean utilization and total memory in use; empty if nothing is known. */
export function loadsText(loads: readonly GpuLoadView[]): string {
  if (loads.length === 0) return '';
  const known = (figure: (load: GpuLoadView) => number | null): number[] => loads.flatMap((load) => figure(load) ?? []);
  const sum = (figures: readonly number[]): number => figures.reduce((all, each) => all + each, 0);
  const [shares, memory] = [known(({ utilization }) => utilization), known(({ memoryUsedMib }) => memoryUsedMib)];
  const text = loadText({
    utilization: shares.length === 0 ? null : sum(shares) / shares.length,
    memoryUsedMib: memory.length === 0 ? null : sum(memory),
    temperatureCelsius: null,
    powerWatts: null,
  });
  return text && `${loads.length === 1 ? 'GPU' : `${loads.length} GPUs`} ${text}`;
}

/** Time that a ready worker may be without figures before this is said, in milliseconds. */
const UNMEASURED_MS = 60_000;

/**
 * Returns the processors and the memory of a worker as `0.5 processors, 312 MiB`. Says so if they are not measured, as
 * in Kubernetes without a metrics server. Empty for a new worker, and for one that does not run.
 */
export function workerLoadText({ load, state, readyMs }: WorkerView, nowMs: number): string {
  if (load === null)
    return state === 'READY' && readyMs > 0 && nowMs - readyMs >= UNMEASURED_MS
      ? 'processors and memory not measured'
      : '';
  const { processors, memoryMib } = load;
  const used = processors === null ? '' : `${processors.toFixed(1)}\u00A0processors`;
  return [used, memoryMib === null ? '' : mib(memoryMib)].filter(Boolean).join(', ');
}

/** Returns how busy a GPU's worker is: the share of its concurrency that is in use. */
export function busyText(busy: number): string {
  return busy === 0 ? 'idle' : `${share(busy)} busy`;
}
