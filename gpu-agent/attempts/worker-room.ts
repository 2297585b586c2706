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

  /** Attempts it can hold at once right now, for core. */
  capacity(worker: Worker): number {
    return worker.hasEnded ? 0 : capacity(this.#facts(worker));
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

  /** More than it has room for may be kept here until it has. */
  keepsAhead(worker: Worker): boolean {
    const { asked, declared, leaving, blocked } = this.#facts(worker);
    return asked && !leaving && !blocked && declared !== undefined;
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
