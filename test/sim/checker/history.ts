/**
 * The history of a run: all that clients asked and saw, and all that handlers did. The checker needs nothing else.
 * Times are virtual milliseconds.
 */
import type { JobState } from '@slipway/core/domain/jobs/job-state';

/** One try of a submission. */
export interface Send {
  atMs: number;
  /** Time of its answer, or of the death of its replica. From then on it makes no job. `undefined`: it still may. */
  overMs: number | undefined;
}

/** A submission that was acknowledged. */
export interface Acknowledged {
  is: 'acknowledged';
  /** Begin of the first try. */
  fromMs: number;
  /** Its tries. One without an answer may make the job as well, while others are sent. */
  sends: readonly Readonly<Send>[];
  atMs: number;
  job: string;
  endpoint: string;
  /** Of one client's tries. */
  request: string;
  /** Idempotency key. Empty: none. */
  key: string;
  ttlMs: number;
  retentionMs: number;
  webhook: boolean;
  /** The replicas that it was sent to, if it may have run before it was stored; else empty. */
  sentTo: readonly string[];
}

/** A state that a client saw. `state` null: the job does not exist. */
export interface Seen {
  is: 'seen';
  fromMs: number;
  atMs: number;
  job: string;
  state: JobState | null;
  /** -1: the answer does not name it. */
  attempt: number;
  /** `undefined`: the answer has none, whatever the job's is. */
  output: string | undefined;
  error: string;
}

/** A call that was not answered, or with an error of core, has its effect within so many milliseconds, or never. */
export const EFFECT_MS_MAX = 60_000;

/** An operation of a client. `atMs` undefined: it does not know how it ended. */
export interface Changed {
  is: 'cancel' | 'retry' | 'purge' | 'bulk cancel' | 'bulk retry' | 'ttl';
  fromMs: number;
  atMs: number | undefined;
  /** Empty: the endpoint's jobs. */
  job: string;
  endpoint: string;
  /** Jobs that it changed, of which it was told. For `ttl`: the life that it left to the job, in milliseconds. */
  done: number;
}

/** A handler begins with an attempt. `token` stands in its output. */
export interface Started {
  is: 'started';
  atMs: number;
  job: string;
  attempt: number;
  machine: string;
  token: string;
  /** The client whose input it has. Clients with one key have one input. */
  client: string;
}

/** A handler ends. */
export interface Ended {
  is: 'ended';
  atMs: number;
  job: string;
  attempt: number;
  token: string;
  how: 'COMPLETED' | 'FAILED' | 'KILLED';
  /** Number of pieces that it streamed. */
  chunks: number;
}

/** Core has acknowledged the outcome of an attempt that had its session all along, so that it was not lost before. */
export interface Delivered {
  is: 'delivered';
  atMs: number;
  job: string;
  attempt: number;
}

/** A page of a stream, read after a cursor. */
export interface Streamed {
  is: 'streamed';
  atMs: number;
  job: string;
  reader: string;
  after: { attempt: number; number: number };
  chunks: { attempt: number; number: number; text: string }[];
  /** Nothing follows. */
  isLast: boolean;
}

/** A call at a webhook's receiver. */
export interface Called {
  is: 'called';
  atMs: number;
  job: string;
  state: JobState;
  output: string;
}

/** Numbers of an endpoint at the end, as core counts them, and as its rows have them. */
export interface Counted {
  is: 'counted';
  atMs: number;
  endpoint: string;
  counted: Readonly<Record<string, number>>;
  truth: Readonly<Record<string, number>>;
}

/** The faults are over; or everything has come to its end. */
interface Turned {
  is: 'calm' | 'converged';
  atMs: number;
}

/** A job waited beside an idle worker of its endpoint for so long. */
interface Waited {
  is: 'waited';
  atMs: number;
  job: string;
  ms: number;
}

/** Core has sent an attempt to an agent after its stop: nothing would end it. */
export interface SentLate {
  is: 'sent late';
  atMs: number;
  job: string;
  attempt: number;
  machine: string;
}

/** A facade has sent a request to a worker of a load-balancing endpoint. */
interface Forwarded {
  is: 'forwarded';
  atMs: number;
  facade: string;
  worker: string;
  /** For how long the worker has not been ready, by the database, in milliseconds. 0: it is. */
  goneForMs: number;
}

/** In calm, requests have waited at a facade for so long, while a worker of their endpoint was ready. */
interface Held {
  is: 'held';
  atMs: number;
  facade: string;
  ms: number;
}

/** Workers to which a facade sends requests at the end, and those that are ready by the database. Sorted ids. */
interface Snapshot {
  is: 'snapshot';
  atMs: number;
  facade: string;
  has: readonly string[];
  truth: readonly string[];
}

/** An event of load balancing. */
export type BalancingEvent = Forwarded | Held | Snapshot;

export type HistoryEvent =
  | Acknowledged
  | Seen
  | Changed
  | Started
  | Ended
  | Delivered
  | Streamed
  | Called
  | Counted
  | Turned
  | Waited
  | SentLate
  | BalancingEvent;

/** Events in order of `atMs`. */
export type History = readonly HistoryEvent[];

/** A broken rule. */
export interface Violation {
  rule: string;
  job: string;
  text: string;
}
