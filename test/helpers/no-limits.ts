/** Limits of a unit that has none. */
import type { UnitLimits } from '@slipway/gpu-agent/executors/executor';

export const NO_LIMITS: UnitLimits = {
  memoryBytes: undefined,
  cpus: undefined,
  pids: undefined,
  shmBytes: undefined,
  diskBytes: undefined,
};
