/** How busy GPUs are, between the contract and the store. */
import type { GpuLoads } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuLoad as GpuLoadMessage } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';

/**
 * Of GPUs with these UUIDs, each once. What no driver could have said is left out, for an agent's figures must not keep
 * its heartbeats from being written.
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

/** For people. */
export function gpuLoadToMessage({
  uuid,
  utilization,
  memoryUsedMib,
  temperatureCelsius,
  powerWatts,
}: GpuLoad): GpuLoadMessage {
  return { uuid, utilization, memoryUsedMib, temperatureCelsius, powerWatts };
}

/** NaN and the infinite are neither. */
function isFrom0(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}
