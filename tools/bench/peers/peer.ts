/** What every peer does for the race, in its two processes: a server that takes jobs over HTTP, and workers. */

/** What a store says of its jobs. */
export interface Kept {
  /** Not worked off. */
  waiting: number;
  done: number;
  /** Failed, or done with another output than OUTPUT where outputs are kept. */
  wrong: number;
}

/** The side that takes jobs. */
export interface PeerQueue {
  /** Resolves when the job is stored, with its id. */
  submit(input: object): Promise<string>;
  /** Resolves with the job's output. */
  submitAndWait(input: object): Promise<unknown>;
  /** Stores many jobs as fast as it can. */
  fill(count: number): Promise<void>;
  /** Jobs that its store says are done; cheaper than `kept`. */
  done(): Promise<number>;
  /** Looks at every job. Undefined: it keeps none that could be looked at. */
  kept?: () => Promise<Kept>;
}

/** Where a peer keeps jobs: the address of a database, or the path of a Redis socket; and the name of the queue. */
export interface PeerPlace {
  store: string;
  queue: string;
}

/** What every worker does with a job. */
export type PeerHandler = () => Promise<object>;

/** Makes both sides. The handler must be called for every job, and what it returns is the job's output. */
export interface Peer {
  /** How it is set up, for the report. */
  settings: string;
  openQueue(place: PeerPlace): Promise<PeerQueue>;
  startWorker(place: PeerPlace, handler: PeerHandler): Promise<void>;
}

/** What every handler returns, ours too (noop-handler.js). */
export const OUTPUT = { done: true };
/** Jobs that each of the two workers holds at once, as those of the agent. */
export const CONCURRENCY = 100;
