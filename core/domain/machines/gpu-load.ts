/** How busy a GPU is, as its driver told last. */
export interface GpuLoad {
  uuid: string;
  /** 0 to 1. Absent, as what follows: its driver does not tell. */
  utilization?: number;
  memoryUsedMib?: number;
  temperatureCelsius?: number;
  powerWatts?: number;
}
