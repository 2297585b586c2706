/**
 * The interface that runs the workloads of a machine: workers and pods. The layers above know only this file. There are
 * three implementations: `process`, commands of this host; `container`, images on a container engine; and `kubernetes`,
 * images as Pods of a node. What only some of them support, the others reject with a message instead of failing
 * silently.
 */
import type { HostUser } from '@slipway/kit/host/host-user';
import type { ImageCredentials } from '../images/prepare-error.ts';

export type { ImageCredentials, PrepareFailure } from '../images/prepare-error.ts';
export { PrepareError } from '../images/prepare-error.ts';

/** The image of a workload. */
export interface ImageRequest {
  /** Name as its owner wrote it, for instance `ollama/ollama:latest`. */
  name: string;
  /** `sha256:…` if the digest of the name is already resolved; empty otherwise. */
  digest: string;
  /** `undefined` if the registry is asked without credentials. */
  credentials: ImageCredentials | undefined;
  /**
   * Reports the digest that the name resolved to here, and returns the digest to use: the same for all workloads of a
   * version, whichever machine was first. Not called if `digest` is given.
   */
  resolveDigest(digest: string): Promise<string>;
}

/** A directory of the host that a workload can use. */
export interface Mount {
  /** Absolute path on the host; exists. */
  source: string;
  /** Absolute path where the workload finds it. */
  target: string;
  /** The workload cannot write into it. */
  readOnly?: boolean;
  /**
   * Makes files that others left in it accessible to a workload that runs as `name`: the image's user as the image
   * names it, `root` for root. Never rejects.
   */
  admit?(name: string): Promise<void>;
}

/** Resource limits of a workload. `undefined`: no limit. */
export interface WorkloadLimits {
  memoryBytes: number | undefined;
  /** Processors; fractions are possible. */
  cpus: number | undefined;
  /** Processes and threads. */
  pids: number | undefined;
  /** Size of /dev/shm. */
  shmBytes: number | undefined;
  /** Bytes that it may write outside its mounts. */
  diskBytes: number | undefined;
}

/** A GPU that is assigned to a workload. */
export interface LaunchGpu {
  /** The driver's UUID; a MIG slice has its own. */
  uuid: string;
  /** Declared by configuration: no device is passed to the workload. */
  virtual: boolean;
}

/** Description of a workload to start. */
export interface Launch {
  /** Id of the workload for its whole life: 14 lowercase letters and digits. */
  workloadId: string;
  /** Endpoint of a worker; absent for a pod. */
  endpointId?: string;
  /** Program and arguments. With an image: replaces the image's command; empty keeps it. */
  command: readonly string[];
  /** With an image: replaces its entry point; empty keeps it. Without one: always empty. */
  entrypoint: readonly string[];
  /** `undefined` for a command of this host. */
  image: ImageRequest | undefined;
  /** User that a command of this host runs as; `undefined` for the agent's own. Images define their own user. */
  user: HostUser | undefined;
  /** Existing directory that it starts in. With an image: a path inside; empty keeps the image's. */
  workingDirectory: string;
  /** Its complete environment. Nothing is inherited, but an image's own variables apply where none is set here. */
  env: Readonly<Record<string, string>>;
  /**
   * Directories of the host to mount. For a command of this host they are views: if both paths are equal, nothing is
   * mounted.
   */
  mounts: readonly Mount[];
  gpus: readonly LaunchGpu[];
  limits: WorkloadLimits;
  /** Receives its output, stdout and stderr in the order of arrival. */
  onOutput(bytes: Buffer): void;
}

/** How a workload ended. */
export interface WorkloadExit {
  /** Exit code. `undefined` if a signal ended it or it never started. */
  code: number | undefined;
  /** Name of the signal that ended it, for instance SIGKILL. */
  signal: string | undefined;
  /** Why it could not be started. */
  failure: string | undefined;
  /** It was ended because it used more memory than its limit. `undefined` if not, or if unknown. */
  outOfMemory?: boolean;
  /** External cause of its end, as the end of a sentence: `was evicted by Kubernetes`. Absent: nothing. */
  cause?: string;
}

/** Current resource usage of a workload. */
export interface WorkloadStats {
  memoryBytes: number;
  /** Processor time since its start, in microseconds. */
  cpuMicros: number;
}

/** Processors and memory in use by a workload, measured by the system that runs it. */
export interface WorkloadUse {
  /** Processors in use, averaged over a short time. */
  processors: number;
  memoryUsedMib: number;
}

/** A started workload. None of its methods throws or rejects once it has ended; `ended` reports the end. */
export interface RunningWorkload {
  /** Resolves once the workload no longer runs and all of its output was received. Never rejects. */
  readonly ended: Promise<WorkloadExit>;
  /** IP address at which its ports can be reached from this host. */
  readonly address: string;
  /** Asks it to end (SIGTERM). A frozen workload is thawed for this. */
  stop(): void;
  /** Ends it and everything that it started, at once. */
  kill(): void;
  /** Suspends it with everything it has in memory. Resolves when it executes no more instructions. */
  freeze(): Promise<void>;
  /** Resumes it. */
  thaw(): Promise<void>;
  /** Returns all of its processes, by their ids on this host. Empty if they cannot be seen. */
  pids(): Promise<number[]>;
  /**
   * Returns what it uses, where its processes cannot be seen but their system measures them. `undefined`: not known.
   * Default: not known.
   */
  use?(): Promise<WorkloadUse | undefined>;
  /** Reads its use of resources. `undefined` if it has ended, or if its executor has no statistics. */
  stats(): Promise<WorkloadStats | undefined>;
}

/** Starts workloads of one kind. */
export interface Executor {
  /**
   * True if `prepare` already starts the workload and returns when it runs, because only a start brings the image.
   * `start` then returns the running one.
   */
  readonly startsPrepared?: boolean;
  /**
   * Prepares everything that a start needs, for instance an image, and retries temporary failures. `progress` receives
   * a line for people whenever there is news. Rejects with PrepareError, or with the signal's reason if the signal
   * aborts.
   */
  prepare(launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void>;
  /** Starts a prepared workload. Never throws: a failure is reported by `ended`. */
  start(launch: Launch): RunningWorkload;
  /**
   * Adopts the workload that a previous run of the agent left running under this id; its further output goes to
   * `onOutput`. A workload that has ended since reports how. `undefined` if nothing runs and nothing is known of it.
   */
  adopt(workloadId: string, onOutput: (bytes: Buffer) => void): Promise<RunningWorkload | undefined>;
  /** Ends and removes everything that previous runs of this machine's agent left, except for these ids. */
  sweep(keep: ReadonlySet<string>): Promise<unknown>;
  /**
   * Detaches, when the agent stops, from workloads that can run on without it, and closes all connections. Nothing else
   * is called afterwards.
   */
  close(): Promise<void>;
}
