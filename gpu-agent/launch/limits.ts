/** What a unit may use at most, from the size it was sold with. Pure. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { UnitLimits } from '../executors/executor.ts';

const MEMORY_GB = 1024 ** 3;
const DISK_GB = 1000 ** 3;

/**
 * Zero in a description means that it has no size of its own; what the machine gives then is its executor's to decide.
 */
export function limitsOf({
  memoryGb,
  vcpuCount,
  containerDiskGb,
}: Pick<WorkerSpec, 'memoryGb' | 'vcpuCount' | 'containerDiskGb'>): UnitLimits {
  return {
    memoryBytes: memoryGb > 0 ? memoryGb * MEMORY_GB : undefined,
    cpus: vcpuCount > 0 ? vcpuCount : undefined,
    pids: undefined,
    shmBytes: undefined,
    diskBytes: containerDiskGb > 0 ? containerDiskGb * DISK_GB : undefined,
  };
}
