/**
 * Decides when a worker is killed because one of its attempts does not end
 * (docs/reference/worker-protocol.md#stopping). Pure.
 */

/**
 * When to kill the worker. `auto`: if no other attempt would be harmed; `always`; `never`: the handler runs to its end
 * and its result is dropped.
 */
export type StopPolicy = 'auto' | 'always' | 'never';

/** Facts about an attempt that should end. */
interface StopFacts {
  policy: StopPolicy;
  /** Time since it was asked to end, in milliseconds. */
  askedMs: number;
  /** Grace period, in milliseconds. */
  graceMs: number;
  /** The worker holds attempts without a request to stop. */
  holdsOthers: boolean;
}

/** Returns what to do now. Under `auto` a worker with other attempts is checked again until it holds only this one. */
export function decideStop(facts: StopFacts): 'wait' | 'kill' {
  if (facts.askedMs < facts.graceMs || facts.policy === 'never') return 'wait';
  return facts.policy === 'always' || !facts.holdsOthers ? 'kill' : 'wait';
}
