/** Who is told of workers, by the workers themselves. */
import type { ResultLine } from './result-lines.ts';

/** A part of the agent that is told of workers. */
export interface WorkerListener<Worker> {
  /** Its state changed, or core must be told something about it. */
  changed(worker: Worker): void;
  /** Its output says this of a result. */
  said(worker: Worker, line: ResultLine): void;
  /** It gets no more work, or none as long as it stands still: what waits for it goes back to core. */
  leaving(worker: Worker): void;
  /** It was asked to end: what it waits for will not come. */
  stopping(worker: Worker): void;
  /** Nothing of it runs any more; `cause` says how it ended, for the attempts it held. */
  ended(worker: Worker, cause: string): void;
}
