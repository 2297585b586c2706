/** The state of an endpoint's rollout, as scaling needs it. */

/**
 * CHECKING: none of its workers has come up yet. ROLLING: one has, and workers of previous versions are replaced.
 * REPLACING: all are replaced at once, as requested. HELD: its workers do not start, and the good version serves.
 * ROLLED_BACK: a user returned to a good version. COMPLETE: it serves alone.
 */
export type RolloutState = 'CHECKING' | 'ROLLING' | 'REPLACING' | 'HELD' | 'ROLLED_BACK' | 'COMPLETE';

/** A stored rollout. */
export interface Rollout {
  /** The endpoint version that it is about. */
  version: number;
  state: RolloutState;
  /** Null if no version has come up yet. */
  goodVersion: number | null;
  /** A worker was stopped to free a slot for the first one of this version. */
  roomMade: boolean;
  /** A worker of this version was started although no job needed one. */
  checked: boolean;
  /** Why it is on hold. */
  reason: string;
  /** Milliseconds since the state changed. */
  ageMs: number;
}

/** A rollout in progress, in the settings of a decision. */
export interface RolloutSettings {
  /**
   * BESIDE: the good version is scaled, and one worker of the released version starts beside it. REPLACE: the version
   * of the settings replaces others, one ready worker after the other. AT_ONCE: the others stop now.
   */
  phase: 'BESIDE' | 'REPLACE' | 'AT_ONCE';
  state: RolloutState;
  /** The released version. */
  released: number;
  /** Absent if there is none. */
  good?: number;
  roomMade?: true;
  checked?: true;
  /** Target of the previous decision: the worker beside is no reason to want more. Absent if there is none. */
  wanted?: number;
}
