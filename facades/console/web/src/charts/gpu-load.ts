/** How busy a GPU is, in words. */
import type { GpuLoadView } from '../../../views-of-gpus.ts';
import { mib, share } from '../lib/format.ts';

/** `87 %, 61.2 of 139.9 GiB, 54 °C, 402 W`: what is known. Without `memoryMib` only how much of its memory is taken. */
export function loadText(
  { utilization, memoryUsedMib, temperatureCelsius, powerWatts }: GpuLoadView,
  memoryMib?: number,
): string {
  return [
    utilization === null ? '' : share(utilization),
    memoryUsedMib === null
      ? ''
      : memoryMib === undefined
        ? mib(memoryUsedMib)
        : `${mib(memoryUsedMib)} of ${mib(memoryMib)}`,
    temperatureCelsius === null ? '' : `${temperatureCelsius}\u00A0°C`,
    powerWatts === null ? '' : `${Math.round(powerWatts)}\u00A0W`,
  ]
    .filter(Boolean)
    .join(', ');
}

/**
 * Of all GPUs of a worker: one as above, without its card; of several their mean and the sum of their memory. Empty:
 * nothing is known.
 */
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

/** What a worker that has it does, of what it can do at once. */
export function busyText(busy: number): string {
  return busy === 0 ? 'idle' : `${share(busy)} busy`;
}
