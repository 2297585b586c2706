/** How busy a GPU is, for the page. */
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuLoadView } from '../views-of-gpus.ts';

/** What its driver does not tell is null. */
export function loadView({ utilization, memoryUsedMib, temperatureCelsius, powerWatts }: GpuLoad): GpuLoadView {
  return {
    utilization: utilization ?? null,
    memoryUsedMib: memoryUsedMib ?? null,
    temperatureCelsius: temperatureCelsius ?? null,
    powerWatts: powerWatts ?? null,
  };
}
