/** The interface by which workers notify the other parts of the agent. */
import type { ResultLine } from './result-lines.ts';

/** A part of the agent that is notified of workers. */
export interface WorkerListener<Worker> {
  /** Called when its state changed, or when there is something to report to core. */
  changed(worker: Worker): void;
  /** Called for each line of its output about a result. */
  resultLine(worker: Worker, line: ResultLine): void;
  /** Called when it gets no more work, or none while it is on standby. Jobs that wait for it go back to core. */
  leaving(worker: Worker): void;
  /** Called when it was asked to end. Whatever it waits for will not come. */
  stopping(worker: Worker): void;
  /** Called when the worker no longer runs. `cause` says how it ended, for the attempts that it held. */
  ended(worker: Worker, cause: string): void;
}
