/** Who is told of workers, by the workers themselves. */
export interface WorkerListener<Worker> {
  /** Its state changed, or core must be told something about it. */
  changed(worker: Worker): void;
  /** It gets no more work, or none as long as it stands still: what waits for it goes back to core. */
  leaving(worker: Worker): void;
  /** It was asked to end: what it waits for will not come. */
  stopping(worker: Worker): void;
  /** Nothing of it runs any more; `cause` says how it ended, for the attempts it held. */
  ended(worker: Worker, cause: string): void;
}
