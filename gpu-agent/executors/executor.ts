/**
 * What runs the units of a machine: workers and pods. The layers above know only this; beside it stand `process`,
 * commands of this host, and `container`, images on a container engine. Whatever is only possible on one of them says
 * so in words instead of failing silently.
 */
import type { HostUser } from '@slipway/kit/host/host-user';
import type { ImageCredentials } from '../images/prepare-error.ts';

export type { ImageCredentials, PrepareFailure } from '../images/prepare-error.ts';
export { PrepareError } from '../images/prepare-error.ts';

/** The image of a unit. */
export interface ImageRequest {
  /** As its owner wrote it, for instance `ollama/ollama:latest`. */
  name: string;
  /** `sha256:…` when it is already settled which bytes the name means; empty otherwise. */
  digest: string;
  /** Undefined: the registry is asked without any. */
  credentials: ImageCredentials | undefined;
  /**
   * Told what the name resolved to here, answers what it shall mean: the same for all units of a version, whichever
   * machine was first. Not called when `digest` is given.
   */
  settle(digest: string): Promise<string>;
}

/** A directory of the host inside a unit. */
export interface Mount {
  /** Absolute path on the host; exists. */
  source: string;
  /** Absolute path where the unit finds it. */
  target: string;
  /**
   * Opens what others left in it to a unit that runs as `name`: an image's user as the image says it, `root` for root.
   * Never rejects.
   */
  admit?(name: string): Promise<void>;
}

/** What a unit may use at most. Undefined: no limit of its own. */
export interface UnitLimits {
  memoryBytes: number | undefined;
  /** Processors; parts are possible. */
  cpus: number | undefined;
  /** Processes and threads. */
  pids: number | undefined;
  /** Size of /dev/shm. */
  shmBytes: number | undefined;
  /** What it may write outside its mounts. */
  diskBytes: number | undefined;
}

/** A GPU that a unit was given. */
export interface LaunchGpu {
  /** The driver's UUID, of a MIG slice its own. */
  uuid: string;
  /** Declared by configuration: nothing is handed over. */
  virtual: boolean;
}

/** What to start. */
export interface Launch {
  /** Names the unit: 14 lowercase letters and digits, for its whole life. */
  unitId: string;
  /** Program and arguments. With an image: replaces the image's command; empty keeps it. */
  command: readonly string[];
  /** With an image: replaces its entry point; empty keeps it. Without one: always empty. */
  entrypoint: readonly string[];
  /** Undefined: a command of this host. */
  image: ImageRequest | undefined;
  /** As whom a command of this host runs; undefined: as the agent. Images bring their own user. */
  user: HostUser | undefined;
  /** Existing directory that it starts in. With an image: a path inside; empty keeps the image's. */
  workingDirectory: string;
  /** Its whole environment; nothing is inherited, but an image's own variables stand where nothing is said. */
  env: Readonly<Record<string, string>>;
  /**
   * Directories of the host inside. For a command of this host they are views: where both paths are the same nothing is
   * mounted.
   */
  mounts: readonly Mount[];
  gpus: readonly LaunchGpu[];
  limits: UnitLimits;
  /** Takes what it writes, stdout and stderr in the order of arrival. */
  onOutput(bytes: Buffer): void;
}

/** How a unit ended. */
export interface UnitExit {
  /** Exit code. Undefined when a signal ended it or it never started. */
  code: number | undefined;
  /** Name of the signal that ended it, for instance SIGKILL. */
  signal: string | undefined;
  /** Why it could not be started. */
  failure: string | undefined;
  /** It was ended because it used more memory than its limit. Undefined: not known, or not. */
  outOfMemory?: boolean;
}

/** What a unit uses now. */
export interface UnitStats {
  memoryBytes: number;
  /** Processor time since its start, in microseconds. */
  cpuMicros: number;
}

/** A started unit. None of its methods throws or rejects once it has ended; `ended` tells the rest. */
export interface RunningUnit {
  /** Settles once nothing of it runs any more and all of its output was seen. Never rejects. */
  readonly ended: Promise<UnitExit>;
  /** Where its ports can be reached from this host: an IP address. */
  readonly address: string;
  /** Asks it to end (SIGTERM). A frozen one is thawed for it. */
  stop(): void;
  /** Ends it and everything it started, at once. */
  kill(): void;
  /** Lets it stand still with all it has in memory. Resolves when no instruction of it runs any more. */
  freeze(): Promise<void>;
  /** Lets it go on. */
  thaw(): Promise<void>;
  /** Undefined: it has ended, or its executor cannot tell. */
  stats(): Promise<UnitStats | undefined>;
}

/** Starts units of one kind. */
export interface Executor {
  /**
   * Sees to all that a start needs, an image for instance, and tries again what may pass. `progress` takes a line for
   * people whenever there is news. Rejects with PrepareError, or with the signal's reason when that aborts.
   */
  prepare(launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void>;
  /** Starts what was prepared. Never throws: a failure shows in `ended`. */
  start(launch: Launch): RunningUnit;
  /**
   * What an earlier run of the agent left running under this id, its further output going to `onOutput`; one that has
   * ended since says how. Undefined: nothing runs, and nothing is known of it.
   */
  adopt(unitId: string, onOutput: (bytes: Buffer) => void): Promise<RunningUnit | undefined>;
  /** Ends and removes everything that earlier runs of this machine's agent left, but for these ids. */
  sweep(keep: ReadonlySet<string>): Promise<unknown>;
  /**
   * The agent stops: lets go of what can live on without it and of all connections. Nothing else is called afterwards.
   */
  close(): Promise<void>;
}
