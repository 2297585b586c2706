/** Interface of a peer in the race, with its two processes: a server that takes jobs over HTTP, and workers. */

/** Counts of the jobs in a store. */
export interface Kept {
  /** Jobs that are not done. */
  waiting: number;
  done: number;
  /** Jobs that failed, or are done with another output than OUTPUT if the peer keeps outputs. */
  wrong: number;
}

/** The side that accepts jobs. */
export interface PeerQueue {
  /** Resolves with the job's id once the job is stored. */
  submit(input: object): Promise<string>;
  /** Resolves with the job's output. */
  submitAndWait(input: object): Promise<unknown>;
  /** Stores many jobs as fast as it can. */
  fill(count: number): Promise<void>;
  /** Returns the number of done jobs according to the store. Cheaper than `kept`. */
  done(): Promise<number>;
  /** Checks every job. `undefined` if the peer keeps no jobs that could be checked. */
  kept?: () => Promise<Kept>;
}

/** Location of a peer's jobs: the address of a database or the path of a Redis socket, and the name of the queue. */
export interface PeerContext {
  store: string;
  queue: string;
}

/** Handles a job. */
export type PeerHandler = () => Promise<object>;

/** Creates both sides. The handler must be called for every job, and its return value is the job's output. */
export interface Peer {
  /** Its settings, for the report. */
  settings: string;
  openQueue(context: PeerContext): Promise<PeerQueue>;
  startWorker(context: PeerContext, handler: PeerHandler): Promise<void>;
}

/** Output of every handler, ours too (noop-handler.js). */
export const OUTPUT = { done: true };
/** Jobs that each of the two workers holds at once, as many as a worker of the agent. */
export const CONCURRENCY = 100;
