/** How much room a worker has, from what it is, what it holds and what it asks for. */
import type { Clock } from '@slipway/kit/time/clock';
import type { CapacityFacts } from '../units/workers/capacity.ts';
import { capacity, takeLimit } from '../units/workers/capacity.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { Holdings } from './holding.ts';
import type { Pace } from './pace.ts';
import type { OpenTake, WorkerPolls } from './worker-polls.ts';

/** The room of a worker as core is to know it. */
export interface Room {
  /** Attempts it can hold at once right now. */
  capacity: number;
  /** More than that may be kept here until it has room. */
  keepsAhead: boolean;
  /** It gets nothing until an attempt that should stop has ended. */
  blocked: boolean;
}

export class WorkerCapacity {
  readonly #holdings: Holdings;
  readonly #polls: WorkerPolls;

  readonly #clock: Clock;

  constructor(options: { holdings: Holdings; polls: WorkerPolls; clock: Clock }) {
    this.#holdings = options.holdings;
    this.#polls = options.polls;
    this.#clock = options.clock;
  }

  of(worker: Worker): Room {
    if (worker.hasEnded) return { capacity: 0, keepsAhead: false, blocked: false };
    const facts = this.#facts(worker);
    return {
      capacity: capacity(facts),
      keepsAhead: keepsAhead(facts),
      blocked: this.#holdings.get(worker.id)?.awaitsEnd ?? false,
    };
  }

  /** How many jobs may be answered to one of its takes. */
  takeLimit(worker: Worker, take: Pick<OpenTake, 'requested'>): number {
    const limit = takeLimit(this.#facts(worker), take.requested);
    const { size: held, waiting } = this.#holdings.of(worker.id);
    const pace = this.#paceOf(worker);
    return limit > 0 && pace?.isOn ? pace.most({ held, waiting }) : limit;
  }

  /** Its open take may be answered with more jobs than it asks for. */
  takesAhead(worker: Worker): boolean {
    const { requested, declared, leaving, blocked, traits } = this.#facts(worker);
    return (
      !leaving &&
      !blocked &&
      requested > 0 &&
      declared === undefined &&
      traits.tellsFreeSlots &&
      !this.#paceOf(worker)?.canBe
    );
  }

  /** What it was given beyond its room waits here until it asks for it. */
  keepsAhead(worker: Worker): boolean {
    return keepsAhead(this.#facts(worker)) || (this.#paceOf(worker)?.canBe ?? false);
  }

  /**
   * Undefined: it is none to be kept awake. A job that it gets late might begin only after a long one that came before:
   * it gets all at once.
   */
  #paceOf(worker: Worker): Pace | undefined {
    const { tellsFreeSlots, startsLate } = worker.sdk.traits;
    const canBe = tellsFreeSlots && !startsLate && this.#polls.declared(worker.id) === undefined;
    return canBe ? this.#holdings.get(worker.id)?.pace : undefined;
  }

  #facts(worker: Worker): CapacityFacts {
    const holding = this.#holdings.get(worker.id);
    const requested = this.#polls.requested(worker.id);
    return {
      asked: worker.asked,
      leaving: worker.isLeaving,
      blocked: holding?.isBlocked ?? false,
      // What is in hand behind them takes no room: core counts it as well, and gives nothing before it has ended.
      held: holding?.begun ?? 0,
      requested,
      declared: this.#polls.declared(worker.id) ?? this.#paceOf(worker)?.room(requested > 0, this.#clock.monotonicMs()),
      configured: Math.max(1, worker.spec.concurrency),
      traits: worker.sdk.traits,
    };
  }
}

function keepsAhead({ asked, leaving, blocked, declared }: CapacityFacts): boolean {
  return asked && !leaving && !blocked && declared !== undefined;
}
