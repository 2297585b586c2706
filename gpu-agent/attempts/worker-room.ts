/** How much room a worker has, from what it is, what it holds and what it asks for. */
import { capacity, takeLimit } from '../units/workers/capacity.ts';
import type { CapacityFacts } from '../units/workers/capacity.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { Holdings } from './holding.ts';
import type { WorkerPolls } from './worker-polls.ts';

export class WorkerRoom {
  readonly #holdings: Holdings;
  readonly #polls: WorkerPolls;

  constructor(options: { holdings: Holdings; polls: WorkerPolls }) {
    this.#holdings = options.holdings;
    this.#polls = options.polls;
  }

  /** For core: attempts it can hold at once right now, and whether more than that may be kept here until it has room. */
  of(worker: Worker): { capacity: number; keepsAhead: boolean } {
    if (worker.hasEnded) return { capacity: 0, keepsAhead: false };
    const facts = this.#facts(worker);
    return { capacity: capacity(facts), keepsAhead: keepsAhead(facts) };
  }

  /** How many jobs may be answered to one take that asks for `requested`. */
  takeLimit(worker: Worker, requested: number): number {
    return takeLimit(this.#facts(worker), requested);
  }

  /** Its open take may be answered with more jobs than it asks for. */
  takesAhead(worker: Worker): boolean {
    const { requested, declared, leaving, blocked, traits } = this.#facts(worker);
    return !leaving && !blocked && requested > 0 && declared === undefined && traits.tellsFreeSlots;
  }

  /** What it was given beyond its room waits here until it asks for it. */
  keepsAhead(worker: Worker): boolean {
    return keepsAhead(this.#facts(worker));
  }

  #facts(worker: Worker): CapacityFacts {
    const holding = this.#holdings.get(worker.id);
    return {
      asked: worker.asked,
      leaving: worker.isLeaving,
      blocked: holding?.isBlocked ?? false,
      // What is in hand behind them takes no room: core counts it as well, and gives nothing before it has ended.
      held: holding?.begun ?? 0,
      requested: this.#polls.requested(worker.id),
      declared: this.#polls.declared(worker.id),
      configured: Math.max(1, worker.spec.concurrency),
      traits: worker.sdk.traits,
    };
  }
}

function keepsAhead({ asked, leaving, blocked, declared }: CapacityFacts): boolean {
  return asked && !leaving && !blocked && declared !== undefined;
}
