/** Resource limits of a workload, from the size it was sold with. Pure. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { WorkloadLimits } from '../executors/executor.ts';

const MEMORY_GB = 1024 ** 3;
const DISK_GB = 1000 ** 3;

/**
 * Returns the limits. Zero in a description means that no size is set; the executor then decides what the machine
 * gives.
 */
export function limitsOf({
  memoryGb,
  vcpuCount,
  containerDiskGb,
}: Pick<WorkerSpec, 'memoryGb' | 'vcpuCount' | 'containerDiskGb'>): WorkloadLimits {
  return {
    memoryBytes: memoryGb > 0 ? memoryGb * MEMORY_GB : undefined,
    cpus: vcpuCount > 0 ? vcpuCount : undefined,
    pids: undefined,
    shmBytes: undefined,
    diskBytes: containerDiskGb > 0 ? containerDiskGb * DISK_GB : undefined,
  };
}
