/** Limits of a unit that has none. */
import type { UnitLimits } from '../../gpu-agent/executors/executor.ts';

export const NO_LIMITS: UnitLimits = {
  memoryBytes: undefined,
  cpus: undefined,
  pids: undefined,
  shmBytes: undefined,
  diskBytes: undefined,
};
