/**
 * Stores the demand that facades and proxies report for load-balancing endpoints, where any replica's scaler reads
 * it. Reports that arrive during a write go into the next; only the latest of a reporter and endpoint counts.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Demand } from '../store/machines/edge-store.ts';
import type { Stores } from '../store/storage.ts';

/** Period of deleting old rows, in milliseconds. */
const PERIOD_MS = 60_000;
/** Most rows in one statement. */
const WRITE_MAX = 1_000;
/** Most reports that may wait; further ones are dropped, as each is repeated within seconds. */
const WAITING_MAX = 20_000;

interface DemandWriterOptions {
  edge: Pick<Stores['edge'], 'saveDemands' | 'dropDemands' | 'pruneDemands'>;
  /** Called with endpoints where requests wait, after the write. */
  onWaiting(endpointIds: readonly string[]): void;
  /** Marked while requests wait or run: scaling must see them end. Default: nothing rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class DemandWriter extends LoopService {
  readonly #options: DemandWriterOptions;
  readonly #waiting = new Map<string, Demand>();
  readonly #ended = new Set<string>();
  /** Reporters that sent their full demand, with the endpoints they named since. */
  readonly #whole = new Map<string, Set<string>>();
  #prunedAtMs = -Infinity;

  constructor(options: DemandWriterOptions) {
    super({ ...options, name: 'demand', periodMs: PERIOD_MS });
    this.#options = options;
  }

  /** Replaces the reporter's previous demand for the endpoint. */
  add(demand: Demand): void {
    const name = `${demand.reporter} ${demand.endpointId}`;
    if (this.#waiting.size >= WAITING_MAX && !this.#waiting.has(name)) return;
    this.#waiting.set(name, demand);
    if (demand.waiting > 0 || demand.inFlight.size > 0) this.#options.activity?.mark();
    this.#whole.get(demand.reporter)?.add(demand.endpointId);
    this.wake();
  }

  /** Replaces all previous demand of the reporter, also at other replicas: it has none for other endpoints. */
  replace(reporter: string, demands: readonly Demand[]): void {
    for (const [name, demand] of this.#waiting) if (demand.reporter === reporter) this.#waiting.delete(name);
    this.#whole.set(reporter, new Set());
    for (const demand of demands) this.add(demand);
    this.wake();
  }

  /** Removes the demand of a reporter that shut down. */
  end(reporter: string): void {
    this.#ended.add(reporter);
    this.wake();
  }

  protected override async pass(): Promise<boolean> {
    const { edge, clock, onWaiting } = this.#options;
    const taken = [...this.#waiting].slice(0, WRITE_MAX);
    for (const [name] of taken) this.#waiting.delete(name);
    const demands = taken.map(([, demand]) => demand).filter(({ reporter }) => !this.#ended.has(reporter));
    await edge.saveDemands(demands);
    onWaiting([...new Set(demands.filter(({ waiting }) => waiting > 0).map(({ endpointId }) => endpointId))]);
    for (const [reporter, kept] of this.#whole) {
      await edge.dropDemands(reporter, [...kept]);
      if (this.#whole.get(reporter) === kept) this.#whole.delete(reporter);
    }
    for (const reporter of this.#ended) {
      await edge.dropDemands(reporter, []);
      this.#ended.delete(reporter);
    }
    if (clock.monotonicMs() - this.#prunedAtMs >= PERIOD_MS) {
      this.#prunedAtMs = clock.monotonicMs();
      await edge.pruneDemands();
    }
    return this.#waiting.size > 0;
  }
}
