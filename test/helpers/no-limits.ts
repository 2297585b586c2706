/** Limits of a workload that has none. */
import type { WorkloadLimits } from '@slipway/gpu-agent/executors/executor';

export const NO_LIMITS: WorkloadLimits = {
  memoryBytes: undefined,
  cpus: undefined,
  pids: undefined,
  shmBytes: undefined,
  diskBytes: undefined,
};
