/**
 * Views of pods, and of logs of pods and workers, that the console's server sends to the page. Times are milliseconds
 * since 1970.
 */

/** A pod and its current state. */
export interface PodView {
  nowMs: number;
  id: string;
  name: string;
  /** STARTING, RUNNING, EXITED or FAILED. */
  state: string;
  /** Desired state: RUNNING or EXITED. */
  desiredStatus: string;
  /** Last report of its machine: the reason for its end, with the last lines of its log. */
  statusText: string;
  /** Time since which it is in that state. 0 if unknown. */
  sinceMs: number;
  image: string;
  command: readonly string[];
  machineId: string;
  /** Empty if it has no GPU. */
  gpuTypeId: string;
  /** GPU uuids. */
  gpus: readonly string[];
  ports: readonly string[];
  volumeMountPath: string;
  /** Empty if there is none. */
  networkVolumeId: string;
  costPerHour: number;
}

/** End of the log of a pod or worker. */
export interface LogTailView {
  text: string;
  /** Whether earlier text was left out. */
  isCut: boolean;
}
