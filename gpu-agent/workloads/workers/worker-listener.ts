/** The interface by which workers notify the other parts of the agent. */
import type { ResultLine } from './result-lines.ts';

/** A part of the agent that is notified of workers. */
export interface WorkerListener<Worker> {
  /** Its state changed, or there is something to report to core. */
  changed(worker: Worker): void;
  /** Its output had this line about a result. */
  resultLine(worker: Worker, line: ResultLine): void;
  /** It gets no more work, or none while it is on standby: jobs that wait for it go back to core. */
  leaving(worker: Worker): void;
  /** It was asked to end: whatever it waits for will not come. */
  stopping(worker: Worker): void;
  /** The worker no longer runs. `cause` says how it ended, for the attempts that it held. */
  ended(worker: Worker, cause: string): void;
}
