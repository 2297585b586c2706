/**
 * Pods, and logs of pods and workers, as the console's server sends them to the page. Times are milliseconds since
 * 1970.
 */

/** A pod and what it does. */
export interface PodView {
  nowMs: number;
  id: string;
  name: string;
  /** STARTING, RUNNING, EXITED or FAILED. */
  state: string;
  /** What it shall do: RUNNING or EXITED. */
  desiredStatus: string;
  /** What its machine told last: why it ended, with the last lines that it wrote. */
  statusText: string;
  /** Since when it is in that state; 0: not known. */
  sinceMs: number;
  image: string;
  command: readonly string[];
  machineId: string;
  /** Empty: it has none. */
  gpuTypeId: string;
  /** By uuid. */
  gpus: readonly string[];
  ports: readonly string[];
  volumeMountPath: string;
  /** Empty: none. */
  networkVolumeId: string;
  costPerHour: number;
}

/** The end of what a pod or worker wrote. */
export interface LogTailView {
  text: string;
  /** There was more before it. */
  isCut: boolean;
}
