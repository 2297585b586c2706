/** What the console's server tells its page of GPUs. */

/** A GPU and who has it. */
export interface GpuView {
  uuid: string;
  name: string;
  memoryMib: number;
  /** Empty: it is well. */
  unhealthy: string;
  /** Empty: it is free. */
  heldBy: '' | 'worker' | 'pod';
  /** Of a worker that has it. */
  workerId: string;
  endpointName: string;
  /** Of what that worker can do at once, how much it does: 0 to 1. */
  busy: number;
  /** As its driver told last; null: it tells nothing, or the machine is away. */
  load: GpuLoadView | null;
}

/** How busy a GPU is; null: its driver does not tell that. */
export interface GpuLoadView {
  /** 0 to 1. */
  utilization: number | null;
  memoryUsedMib: number | null;
  /** Of its card. */
  temperatureCelsius: number | null;
  powerWatts: number | null;
}
