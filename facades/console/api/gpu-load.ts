/** Converts the load of a GPU for the page. */
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuLoadView } from '../views-of-gpus.ts';

/** Returns the view. `null` for a value that the driver does not report. */
export function loadView({ utilization, memoryUsedMib, temperatureCelsius, powerWatts }: GpuLoad): GpuLoadView {
  return {
    utilization: utilization ?? null,
    memoryUsedMib: memoryUsedMib ?? null,
    temperatureCelsius: temperatureCelsius ?? null,
    powerWatts: powerWatts ?? null,
  };
}
