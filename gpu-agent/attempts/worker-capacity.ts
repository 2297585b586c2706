/** Computes a worker's capacity from its traits, the attempts that it holds and the work that it asks for. */
import type { Clock } from '@slipway/kit/time/clock';
import type { CapacityFacts } from '../workloads/workers/capacity.ts';
import { capacity, takeLimit } from '../workloads/workers/capacity.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { Holdings } from './holding.ts';
import type { Pace } from './pace.ts';
import type { OpenTake, WorkerPolls } from './worker-polls.ts';

/** Capacity of a worker as reported to core. */
export interface WorkerSlots {
  /** Number of attempts that it can hold at once right now. */
  capacity: number;
  /** More attempts than that may be prefetched here until it has capacity. */
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

  of(worker: Worker): WorkerSlots {
    if (worker.hasEnded) return { capacity: 0, keepsAhead: false, blocked: false };
    const facts = this.#facts(worker);
    return {
      capacity: capacity(facts),
      keepsAhead: keepsAhead(facts),
      blocked: this.#holdings.get(worker.id)?.awaitsEnd ?? false,
    };
  }

  /** Returns how many jobs one of its takes may be answered with. */
  takeLimit(worker: Worker, take: Pick<OpenTake, 'requested'>): number {
    const limit = takeLimit(this.#facts(worker), take.requested);
    const { size: held, waiting } = this.#holdings.of(worker.id);
    const pace = this.#paceOf(worker);
    return limit > 0 && pace?.isOn ? pace.most({ held, waiting }) : limit;
  }

  /** Returns true if its open take may be answered with more jobs than it asks for. */
  takesAhead(worker: Worker): boolean {
    const { requested, declared, leaving, blocked, traits } = this.#facts(worker);
    return (
      !leaving &&
      !blocked &&
      requested > 0 &&
      declared === undefined &&
      traits.reportsFreeSlots &&
      !this.#paceOf(worker)?.canBe
    );
  }

  /** Returns true if attempts beyond its capacity wait here until it asks for them. */
  keepsAhead(worker: Worker): boolean {
    return keepsAhead(this.#facts(worker)) || (this.#paceOf(worker)?.canBe ?? false);
  }

  /**
   * Returns the worker's pace; `undefined` if its SDK need not be kept from sleeping. A worker that starts jobs late
   * gets all jobs at once: a job that arrives later might begin only after a long one before it.
   */
  #paceOf(worker: Worker): Pace | undefined {
    const { reportsFreeSlots, startsLate } = worker.sdk.traits;
    const canBe = reportsFreeSlots && !startsLate && this.#polls.declared(worker.id) === undefined;
    return canBe ? this.#holdings.get(worker.id)?.pace : undefined;
  }

  #facts(worker: Worker): CapacityFacts {
    const holding = this.#holdings.get(worker.id);
    const requested = this.#polls.requested(worker.id);
    return {
      asked: worker.asked,
      leaving: worker.isLeaving,
      blocked: holding?.isBlocked ?? false,
      // Prefetched attempts behind these take no capacity: core counts them as well, and gives nothing before they have
      // ended.
      held: holding?.begun ?? 0,
      requested,
      declared:
        this.#polls.declared(worker.id) ?? this.#paceOf(worker)?.capacity(requested > 0, this.#clock.monotonicMs()),
      configured: Math.max(1, worker.spec.concurrency),
      traits: worker.sdk.traits,
    };
  }
}

function keepsAhead({ asked, leaving, blocked, declared }: CapacityFacts): boolean {
  return asked && !leaving && !blocked && declared !== undefined;
}
