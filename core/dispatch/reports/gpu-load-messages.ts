/** Converts GPU loads between messages and the store. */
import type { GpuLoads } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuLoad as GpuLoadMessage } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';

/**
 * Returns the load of each of these GPUs, at most once. Impossible figures are dropped, because one bad figure must
 * not keep a machine's heartbeats from being written.
 */
export function gpuLoadsFromMessage({ loads }: GpuLoads, uuids: ReadonlySet<string>): GpuLoad[] {
  const byUuid = new Map(loads.filter(({ uuid }) => uuids.has(uuid)).map((load) => [load.uuid, load]));
  return [...byUuid.values()].map(({ uuid, utilization, memoryUsedMib, temperatureCelsius, powerWatts }) => ({
    uuid,
    ...(isFrom0(utilization) && { utilization: Math.min(utilization, 1) }),
    ...(isFrom0(memoryUsedMib) && { memoryUsedMib }),
    ...(temperatureCelsius !== undefined && { temperatureCelsius }),
    ...(isFrom0(powerWatts) && { powerWatts }),
  }));
}

/** Returns a GPU load as a message for clients. */
export function gpuLoadToMessage({
  uuid,
  utilization,
  memoryUsedMib,
  temperatureCelsius,
  powerWatts,
}: GpuLoad): GpuLoadMessage {
  return { uuid, utilization, memoryUsedMib, temperatureCelsius, powerWatts };
}

/** Returns whether the value is finite and not negative. */
function isFrom0(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}
