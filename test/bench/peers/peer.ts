/** What every peer does for the race, in its two processes: a server that takes jobs over HTTP, and workers. */

/** The side that takes jobs. */
export interface PeerQueue {
  /** Resolves when the job is stored, with its id. */
  submit(input: object): Promise<string>;
  /** Resolves with the job's output. */
  submitAndWait(input: object): Promise<unknown>;
  /** Stores many jobs as fast as it can. */
  fill(count: number): Promise<void>;
  /** Jobs that its store says are done. */
  done(): Promise<number>;
}

/** Where a peer keeps jobs: the address of a database, or the path of a Redis socket; and the name of the queue. */
export interface PeerPlace {
  store: string;
  queue: string;
}

/** Makes both sides. `onJob` is told of every job that a worker was given; every handler returns OUTPUT at once. */
export interface Peer {
  openQueue(place: PeerPlace): Promise<PeerQueue>;
  startWorker(place: PeerPlace, onJob: () => void): Promise<void>;
}

/** What every handler returns, ours too (noop-handler.js). */
export const OUTPUT = { done: true };
/** Jobs that each of the two workers holds at once, as those of the agent. */
export const CONCURRENCY = 100;
