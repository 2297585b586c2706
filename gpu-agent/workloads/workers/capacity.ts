/**
 * How many attempts a worker can hold: pure rules over what it asked for and what the agent counted
 * (docs/reference/worker-protocol.md#concurrency).
 */
import type { SdkTraits } from './sdk-traits.ts';

/** Facts that determine a worker's capacity. */
export interface CapacityFacts {
  /** It has asked for work at least once. */
  asked: boolean;
  /** It gets no more work. */
  leaving: boolean;
  /**
   * It gets no more work until an attempt that should stop has ended: it would take a job and begin it only after that.
   */
  blocked: boolean;
  /** Attempts given to it that have not ended, including attempts to be stopped: core counts them too. */
  held: number;
  /** Slots that its open takes ask for; 0 if no take is open. */
  requested: number;
  /**
   * The concurrency that it declared. Only the SDK of this repository declares it; that SDK keeps a take open whenever
   * it has free slots.
   */
  declared: number | undefined;
  /** The endpoint's concurrency, for SDKs that do not declare theirs. */
  configured: number;
  traits: SdkTraits;
}

/**
 * Returns how many attempts it can hold right now, for core. An SDK that pauses between takes has no free slots while
 * no take is open: a job sent during the pause would wait although another worker may be free.
 */
export function capacity(facts: CapacityFacts): number {
  if (!facts.asked) return 0;
  if (facts.leaving || facts.blocked) return facts.held;
  if (facts.declared !== undefined) return Math.max(facts.declared, facts.held);
  if (facts.requested === 0) return facts.held;
  if (facts.traits.reportsFreeSlots) return facts.held + facts.requested;
  return Math.max(facts.configured, facts.held);
}

/**
 * Returns how many jobs may be given to one take that asks for `requested`. Old SDKs ask for more than they can run, so
 * they are capped.
 */
export function takeLimit(facts: CapacityFacts, requested: number): number {
  if (facts.leaving || facts.blocked) return 0;
  if (facts.traits.reportsFreeSlots) return requested;
  return Math.max(0, Math.min(requested, facts.configured - facts.held));
}
