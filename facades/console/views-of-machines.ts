/** One machine as the console's server sends it to the operator's page. Times are milliseconds since 1970. */
import type { EndedView, MachineView, WorkerView } from './views.ts';

/** A pod, without what its account gave it. */
export interface MachinePodView {
  id: string;
  name: string;
  accountId: string;
  /** STARTING, RUNNING, EXITED or FAILED. */
  state: string;
  /** Empty: a command of the host. */
  image: string;
  /** By uuid. */
  gpus: readonly string[];
  sinceMs: number;
}

/** Why it takes no worker of an endpoint that needs a place. */
export interface MachineRefusalView {
  endpointId: string;
  endpointName: string;
  accountId: string;
  reason: string;
  change: string;
}

/** A machine and what is on it. */
export interface MachinePageView {
  nowMs: number;
  machine: MachineView;
  /** Since when the present run of its agent speaks for it. */
  agentSinceMs: number;
  /** Empty: not known. */
  keyId: string;
  /** 0: its key works. */
  keyRevokedMs: number;
  /** Core's replica that holds its session; empty: none does. */
  replicaAddress: string;
  cpuModel: string;
  cpuSlots: number;
  cudaVersion: string;
  runsCommands: boolean;
  noEngineReason: string;
  /** Disk for images; 0 in all: not known. */
  imageTotalMib: number;
  imageFreeMib: number;
  workers: readonly WorkerView[];
  /** Ended within the last day. */
  recent: readonly WorkerView[];
  ended: readonly EndedView[];
  pods: readonly MachinePodView[];
  images: readonly { name: string; digest: string; bytes: number }[];
  /** Of all its images. */
  imageCount: number;
  imageBytes: number;
  /** Where HTTP servers listen; without a port it is a worker. */
  addresses: readonly { id: string; port: string; address: string }[];
  refusals: readonly MachineRefusalView[];
}
