/**
 * When a worker is killed because one of its attempts does not end (docs/reference/worker-protocol.md#stopping). Pure.
 */

/**
 * `auto`: when no other attempt would be hurt; `always`; `never`: the handler runs to its end and its result is
 * dropped.
 */
export type StopPolicy = 'auto' | 'always' | 'never';

/** What is known about an attempt that should end. */
export interface StopFacts {
  policy: StopPolicy;
  /** How long ago it was asked to end, in milliseconds. */
  askedMs: number;
  /** How long it may take, in milliseconds. */
  graceMs: number;
  /** The worker holds attempts that nobody asked to stop. */
  holdsOthers: boolean;
}

/**
 * What to do about it now. Under `auto` a worker with other attempts is looked at again until it holds only this one.
 */
export function decideStop(facts: StopFacts): 'wait' | 'kill' {
  if (facts.askedMs < facts.graceMs || facts.policy === 'never') return 'wait';
  return facts.policy === 'always' || !facts.holdsOthers ? 'kill' : 'wait';
}
