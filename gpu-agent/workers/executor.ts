/** What starts a worker. The pool knows only this, so that a container executor can stand beside the process executor. */
import type { HostUser } from '../../core/runtime/host-user.ts';

/** What to start. */
export interface Launch {
  workerId: string;
  /** Program and arguments. */
  command: readonly string[];
  /** As whom it runs; undefined: as the agent. */
  user: HostUser | undefined;
  /** Existing directory it starts in. */
  workingDirectory: string;
  /** Its whole environment; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Takes what it writes, stdout and stderr in the order of arrival. */
  onOutput(bytes: Buffer): void;
}

/** How a worker ended. */
export interface WorkerExit {
  /** Exit code. Undefined when a signal ended it or it never started. */
  code: number | undefined;
  /** Name of the signal that ended it, for instance SIGKILL. */
  signal: string | undefined;
  /** Why it could not be started. */
  failure: string | undefined;
}

/** A started worker. */
export interface RunningWorker {
  /** Settles once nothing of it runs any more and all of its output was seen. Never rejects. */
  readonly ended: Promise<WorkerExit>;
  /** Asks it to end (SIGTERM). Harmless afterwards. */
  terminate(): void;
  /** Ends it and everything it started, at once. Harmless afterwards. */
  kill(): void;
}

/** Starts workers. */
export interface Executor {
  /** Starts one. Never throws: a failure shows in `ended`. */
  start(launch: Launch): RunningWorker;
}
