/**
 * How many attempts a worker can hold: pure rules over what it asked for and what the agent itself counted
 * (docs/reference/worker-protocol.md#concurrency).
 */
import type { SdkTraits } from './sdk-traits.ts';

/** What the agent knows about a worker's room. */
export interface CapacityFacts {
  /** It has asked for work at least once. */
  asked: boolean;
  /** It gets no more work. */
  leaving: boolean;
  /**
   * It gets no more work until an attempt that should stop has ended: it would take a job and begin it only when that
   * one is over.
   */
  blocked: boolean;
  /** Attempts handed to it that have not ended, those that should stop included: core counts them too. */
  held: number;
  /** Slots that its open takes ask for; 0 when no take is open. */
  requested: number;
  /**
   * The concurrency it declared in words. Only the SDK of this repository does; it keeps a take open whenever it has
   * room.
   */
  declared: number | undefined;
  /** The endpoint's setting for SDKs that do not tell their concurrency. */
  configured: number;
  traits: SdkTraits;
}

/**
 * Attempts it can hold at once right now, for core. An SDK that pauses between takes has no room while no take is open:
 * a job sent into the pause would wait although another worker may be free.
 */
export function capacity(facts: CapacityFacts): number {
  if (!facts.asked) return 0;
  if (facts.leaving || facts.blocked) return facts.held;
  if (facts.declared !== undefined) return Math.max(facts.declared, facts.held);
  if (facts.requested === 0) return facts.held;
  if (facts.traits.tellsFreeSlots) return facts.held + facts.requested;
  return Math.max(facts.configured, facts.held);
}

/**
 * How many jobs may be answered to one take that asks for `requested`. Old SDKs ask for more than they can run, so they
 * are capped.
 */
export function takeLimit(facts: CapacityFacts, requested: number): number {
  if (facts.leaving || facts.blocked) return 0;
  if (facts.traits.tellsFreeSlots) return requested;
  return Math.max(0, Math.min(requested, facts.configured - facts.held));
}
