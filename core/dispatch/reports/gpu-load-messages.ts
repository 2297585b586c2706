/** Converts loads of GPUs and workers between messages and the store. */
import type { GpuLoads } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuLoad as GpuLoadMessage } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';
import type { HostLoad, MachineLoads } from '../../domain/machines/host-load.ts';

/** Most workers of a machine whose load is stored. */
const WORKERS_MAX = 1_000;
const WORKER_ID = /^[a-z0-9]{14}$/;

/** Returns the loads of a machine with these GPUs. */
export function loadsFromMessage(message: GpuLoads, uuids: ReadonlySet<string>): MachineLoads {
  const workers = Object.entries(message.workers).filter(([id]) => WORKER_ID.test(id));
  return {
    gpus: gpuLoadsFromMessage(message, uuids),
    workers: Object.fromEntries(workers.slice(0, WORKERS_MAX).map(([id, load]) => [id, workerLoad(load)])),
  };
}

function workerLoad({ processors, memoryUsedMib }: HostLoad): HostLoad {
  return { ...(isFrom0(processors) && { processors }), ...(isFrom0(memoryUsedMib) && { memoryUsedMib }) };
}

/**
 * Returns the load of each of these GPUs, at most once. Impossible figures are dropped, because one bad figure must
 * not keep a machine's heartbeats from being written.
 */
export function gpuLoadsFromMessage({ loads }: Pick<GpuLoads, 'loads'>, uuids: ReadonlySet<string>): GpuLoad[] {
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
