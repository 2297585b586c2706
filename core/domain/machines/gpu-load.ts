/** Load of a GPU, as its driver last reported it. */
export interface GpuLoad {
  uuid: string;
  /** From 0 to 1. This and the following fields are absent if the driver does not report them. */
  utilization?: number;
  memoryUsedMib?: number;
  temperatureCelsius?: number;
  powerWatts?: number;
}
