/** Loads of workers on their machines, as their agents last measured them. */
import type { GpuLoad } from './gpu-load.ts';

/** Processors and memory that a worker uses. */
export interface HostLoad {
  /** 1.5 is one and a half. Absent: not measured yet. */
  processors?: number;
  memoryUsedMib?: number;
}

/** Loads of a machine, as its agent reported them. */
export interface MachineLoads {
  gpus: readonly GpuLoad[];
  /** By worker. */
  workers: Readonly<Record<string, HostLoad>>;
}
