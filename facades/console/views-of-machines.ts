/** Views of one machine that the console's server sends to the operator's page. Times are milliseconds since 1970. */
import type { EndedView, MachineView, WorkerView } from './views.ts';

/** A pod, without the settings that its account chose. */
export interface MachinePodView {
  id: string;
  name: string;
  accountId: string;
  /** STARTING, RUNNING, EXITED or FAILED. */
  state: string;
  /** Name of the image. Empty: a command of the host. */
  image: string;
  /** GPU uuids. */
  gpus: readonly string[];
  sinceMs: number;
}

/** A model on the machine. */
export interface MachineModelView {
  repository: string;
  revision: string;
  commit: string;
  /** DOWNLOADING, READY or FAILED. */
  state: string;
  bytes: number;
  downloadedBytes: number;
  error: string;
  /** Number of the account that it is for. 0: all. */
  accountNumber: number;
}

/** Reason why the machine accepts no worker of an endpoint that needs one. */
interface MachineRefusalView {
  endpointId: string;
  endpointName: string;
  accountId: string;
  reason: string;
  change: string;
}

/** A machine with its workers, pods and images. */
export interface MachinePageView {
  nowMs: number;
  machine: MachineView;
  /** Names of accounts by id. Names that are still unknown are absent. */
  accounts: Readonly<Record<string, string>>;
  /** Time since which the current session of its agent exists. */
  agentSinceMs: number;
  /** Empty if unknown. */
  keyId: string;
  /** 0 if the key is valid. */
  keyRevokedMs: number;
  /** Core replica that holds its session. Empty if there is none. */
  replicaAddress: string;
  cpuModel: string;
  cpuSlots: number;
  cudaVersion: string;
  runsCommands: boolean;
  noEngineReason: string;
  /** Disk for images. A total of 0: unknown. */
  imageTotalMib: number;
  imageFreeMib: number;
  workers: readonly WorkerView[];
  /** Workers that ended within the last day. */
  recent: readonly WorkerView[];
  ended: readonly EndedView[];
  pods: readonly MachinePodView[];
  images: readonly { name: string; digest: string; bytes: number }[];
  /** Number of all its images, and their bytes. */
  imageCount: number;
  imageBytes: number;
  models: readonly MachineModelView[];
  /** Space for models and what they take. A limit of 0: the machine takes none. */
  modelLimitBytes: number;
  modelUsedBytes: number;
  /** Addresses of HTTP servers. An entry without a port belongs to a worker. */
  addresses: readonly { id: string; port: string; address: string }[];
  refusals: readonly MachineRefusalView[];
}
