/** GPUs as the console's server sends them to the page. */

/** A GPU and its holder. */
export interface GpuView {
  uuid: string;
  name: string;
  memoryMib: number;
  /** Empty if it is healthy. */
  unhealthy: string;
  /** Empty if it is free. */
  heldBy: '' | 'worker' | 'pod';
  /** Id of the worker that has it. */
  workerId: string;
  endpointName: string;
  /** Share of the worker's concurrency in use, 0 to 1. */
  busy: number;
  /** Latest load that its driver reported. `null` if it reports none, or the machine is disconnected. */
  load: GpuLoadView | null;
}

/** Load of a GPU. `null` for a value that its driver does not report. */
export interface GpuLoadView {
  /** 0 to 1. */
  utilization: number | null;
  memoryUsedMib: number | null;
  /** Temperature of the card. */
  temperatureCelsius: number | null;
  powerWatts: number | null;
}
