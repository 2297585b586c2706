/** GPUs as the console's server sends them to the page. */

/** A GPU and its holder. */
export interface GpuView {
  uuid: string;
  name: string;
  memoryMib: number;
  /** Empty if it is healthy. */
  unhealthy: string;
  /** Warning; the GPU stays in use. Empty if there is none. */
  warning: string;
  /** Empty if it is free. */
  heldBy: '' | 'worker' | 'pod';
  /** Id of the worker that has it. */
  workerId: string;
  endpointName: string;
  /** Share of the worker's concurrency in use, 0 to 1. */
  busy: number;
  /** Endpoints whose workers are in host memory and need this GPU to resume. */
  offloaded: readonly string[];
  /** Latest load that its driver reported. `null` if it reports none, or the machine is disconnected. */
  load: GpuLoadView | null;
}

/** GPU memory of a worker. */
export interface WorkerMemoryView {
  /** Where it is on standby. Empty: the worker is not on standby, or has no GPU. */
  standby: '' | 'GPU' | 'HOST';
  /** Bytes that it holds, or held before its offload. 0: unknown. */
  gpuBytes: number;
  /** Durations of its latest moves to host memory and back. 0: none yet. */
  offloadMs: number;
  restoreMs: number;
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
