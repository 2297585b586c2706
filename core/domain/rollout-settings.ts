/** How far the latest release of an endpoint has come, as scaling needs it. */

/**
 * CHECKING: none of its workers has come up yet. ROLLING: one has, and workers of earlier versions are replaced. REPLACING: all are replaced at once, as
 * was asked. HELD: its workers do not start, and the good version goes on. ROLLED_BACK: somebody returned to a good version. COMPLETE: it serves alone.
 */
export type RolloutState = 'CHECKING' | 'ROLLING' | 'REPLACING' | 'HELD' | 'ROLLED_BACK' | 'COMPLETE';

/** A rollout as it is kept. */
export interface Rollout {
  /** The endpoint version that it is about. */
  version: number;
  state: RolloutState;
  /** Null: no version has come up yet. */
  goodVersion: number | null;
  /** A worker was ended to make room for the first one of this version. */
  roomMade: boolean;
  /** It was tried to start a worker of this version although nothing asked for one. */
  checked: boolean;
  /** Why it is held. */
  reason: string;
  /** Milliseconds since `state` became what it is. */
  ageMs: number;
}

/** A rollout that is not complete, in the settings of a decision. */
export interface RolloutSettings {
  /**
   * BESIDE: the good version is scaled, and one worker of the released version starts beside it. REPLACE: the version of the settings takes the place of
   * others, one ready worker after the other. AT_ONCE: the others go now.
   */
  phase: 'BESIDE' | 'REPLACE' | 'AT_ONCE';
  state: RolloutState;
  /** The version that was released. */
  released: number;
  /** Absent: none. */
  good?: number;
  roomMade?: true;
  checked?: true;
  /** Workers that the last decision wanted: the one that starts beside them is no reason to want more. Absent: there was none. */
  wanted?: number;
}
