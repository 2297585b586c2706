/**
 * The states of a job and the only allowed transitions (docs/reference/api.md#states). Code, tests and documents read
 * this table; the database rejects all others.
 */

export const JOB_STATES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'] as const;

/** State of a job. */
export type JobState = (typeof JOB_STATES)[number];

/** Cause of a state transition. */
export type Trigger =
  | 'submit'
  | 'claim'
  | 'complete'
  | 'fail'
  | 'time out'
  | 'cancel'
  | 'retry'
  /** The attempt's worker, machine or lease was lost, and the endpoint's limit allows another attempt. */
  | 'lose'
  /** No worker has seen the attempt. */
  | 'return'
  | 'purge'
  | 'expire';

/** An allowed transition. `null`: a job that does not exist yet, or no longer. */
interface Transition {
  from: JobState | null;
  trigger: Trigger;
  to: JobState | null;
}

/** All allowed transitions. */
export const TRANSITIONS: readonly Transition[] = [
  { from: null, trigger: 'submit', to: 'IN_QUEUE' },
  { from: 'IN_QUEUE', trigger: 'claim', to: 'IN_PROGRESS' },
  { from: 'IN_PROGRESS', trigger: 'complete', to: 'COMPLETED' },
  { from: 'IN_PROGRESS', trigger: 'fail', to: 'FAILED' },
  { from: 'IN_PROGRESS', trigger: 'time out', to: 'TIMED_OUT' },
  { from: 'IN_QUEUE', trigger: 'cancel', to: 'CANCELLED' },
  { from: 'IN_PROGRESS', trigger: 'cancel', to: 'CANCELLED' },
  { from: 'FAILED', trigger: 'retry', to: 'IN_QUEUE' },
  { from: 'TIMED_OUT', trigger: 'retry', to: 'IN_QUEUE' },
  { from: 'IN_PROGRESS', trigger: 'lose', to: 'IN_QUEUE' },
  { from: 'IN_PROGRESS', trigger: 'return', to: 'IN_QUEUE' },
  { from: 'IN_QUEUE', trigger: 'purge', to: null },
  ...JOB_STATES.map((from): Transition => ({ from, trigger: 'expire', to: null })),
];

/** Returns the next state, `undefined` if the transition is not allowed. */
export function nextState(from: JobState | null, trigger: Trigger): JobState | null | undefined {
  return TRANSITIONS.find((move) => move.from === from && move.trigger === trigger)?.to;
}

/** Returns the states in which a trigger is allowed. */
export function statesBefore(trigger: Trigger): JobState[] {
  return JOB_STATES.filter((state) => nextState(state, trigger) !== undefined);
}

/** Returns true if no worker will run the job again, unless its owner retries it. */
export function isFinal(state: JobState): boolean {
  return nextState(state, 'claim') === undefined && nextState(state, 'complete') === undefined;
}

/** Returns whether a job in this state can be cancelled. */
export function canCancel(state: JobState): boolean {
  return nextState(state, 'cancel') !== undefined;
}

/**
 * Final states that call the job's webhook (docs/reference/api.md#webhooks). A cancelled job does not, as its owner
 * knows.
 */
export const ANNOUNCED_STATES: readonly JobState[] = ['COMPLETED', 'FAILED', 'TIMED_OUT'];
