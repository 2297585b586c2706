/** Labels and names by which the agent finds its objects in Kubernetes. */

/** Labels of every object: its workload and its machine. */
export const POD_WORKLOAD_LABEL = 'slipway.workload';
export const POD_MACHINE_LABEL = 'slipway.machine';
/** Label of a worker's Pod: its endpoint. */
export const ENDPOINT_LABEL = 'slipway.endpoint';
/** Annotation that distinguishes tries to create a Pod of one name. */
export const LAUNCH_ANNOTATION = 'slipway.launch';
/** Annotation with the UUIDs of its GPUs, separated by commas. */
export const GPUS_ANNOTATION = 'slipway.gpus';
/** Name of the container in each Pod. */
export const CONTAINER = 'workload';

/** Returns the names of a workload's objects besides its Pod, which has the workload's id as its name. */
export const envSecretName = (workloadId: string): string => `${workloadId}-env`;
export const pullSecretName = (workloadId: string): string => `${workloadId}-pull`;
export const claimName = (workloadId: string): string => `${workloadId}-gpus`;
