/**
 * Stores what agents report about their workers. State changes are written at once, in order and many to a statement.
 * Changes of capacity, signs of use and start-up details come with every job and every image layer, so they are
 * written once a second. Reports of a session are written only while no later session owns the machine.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import { retryUntil } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import type { WorkerStart } from '../../store/machines/worker-starts.ts';
import type { WorkerFacts } from '../../store/machines/worker-store.ts';
import type { Stores } from '../../store/storage.ts';

const PERIOD_MS = 1_000;
/**
 * Most machines whose reports are written concurrently. A machine whose worker is locked by a reconcile must not
 * delay the others.
 */
const WRITERS_MAX = 4;
const PAUSE = { firstMs: 100, maxMs: 2_000 };

interface WorkerReportsOptions {
  workers: Stores['workers'];
  /** Called when workers of these endpoints came, changed or went. */
  onChanged(endpointIds: readonly string[]): void;
  /** Called when workers of these load-balancing endpoints came, changed or went. */
  onBackends(endpointIds: readonly string[]): void;
  /** Called when workers of a machine ended and their capacity is free. Default: none. */
  onCapacity?: ((machineId: string) => void) | undefined;
  /** Called when workers of a machine left their GPUs for host memory: others wait there. Default: none. */
  onOffloaded?: ((machineId: string) => void) | undefined;
  /** Called when workers became ready. Default: none. */
  onStarts?: ((starts: readonly WorkerStart[]) => void) | undefined;
  /** Returns whether a worker holds attempts. */
  holds(workerId: string): boolean;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Waiting {
  session: MachineSession;
  facts: Map<string, WorkerFacts>;
  /** True if the change matters to scaling and edges. */
  isNews: boolean;
}

export class WorkerReports extends LoopService {
  readonly #options: WorkerReportsOptions;
  /** Latest facts to write, by session and worker. */
  readonly #urgent = new Map<string, Waiting>();
  readonly #lazy = new Map<string, Waiting>();
  #used = new Set<string>();
  #healthy = new Set<string>();
  readonly #writers = new Set<Promise<void>>();
  /** Sessions whose changes are being written: they are written in order. */
  readonly #writing = new Set<string>();

  constructor(options: WorkerReportsOptions) {
    super({ ...options, name: 'worker reports', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async onStart(): Promise<void> {
    this.#writeUrgent();
    await super.onStart();
  }

  protected override async onStop(): Promise<void> {
    await super.onStop();
    await Promise.all(this.#writers);
  }

  /** Records that a worker came, changed its state or ended. */
  changed(session: MachineSession, facts: WorkerFacts): void {
    put(this.#urgent, session, facts, true);
    this.#lazy.get(session.sessionId)?.facts.delete(facts.workerId);
    this.#writeUrgent();
  }

  /** Records that only a worker's capacity or start-up detail changed. */
  detailChanged(session: MachineSession, facts: WorkerFacts): void {
    if (this.#urgent.get(session.sessionId)?.facts.has(facts.workerId)) put(this.#urgent, session, facts, false);
    else put(this.#lazy, session, facts, false);
  }

  /** Records that a worker received or returned an attempt. */
  used(workerId: string): void {
    this.#used.add(workerId);
  }

  /** Records that a worker finished an attempt. Its crashes no longer count. */
  healthy(workerId: string): void {
    this.#used.add(workerId);
    this.#healthy.add(workerId);
  }

  /** Starts a writer of changed states if one is needed and fewer than WRITERS_MAX run. */
  #writeUrgent(): void {
    if (this.#writers.size >= WRITERS_MAX || this.ending.aborted || !this.#next()) return;
    const writer = this.#writeAll().finally(() => this.#writers.delete(writer));
    this.#writers.add(writer);
  }

  /** Writes changes until none is left or the service stops. Never rejects. */
  async #writeAll(): Promise<void> {
    const { clock, random } = this.#options;
    const { ending } = this;
    while (this.#next() && !ending.aborted)
      await retryUntil(ending, () => this.#writeNext(), { clock, random, pause: PAUSE });
  }

  /** Returns changes of a session that no writer handles yet. */
  #next(): [sessionId: string, Waiting] | undefined {
    for (const one of this.#urgent) if (!this.#writing.has(one[0])) return one;
    return undefined;
  }

  async #writeNext(): Promise<void> {
    const next = this.#next();
    if (!next) return;
    const [sessionId, waiting] = next;
    this.#urgent.delete(sessionId);
    this.#writing.add(sessionId);
    try {
      const { session, facts } = waiting;
      const changed = await this.#options.workers.report(session, [...facts.values()], this.#options.onStarts);
      if (!waiting.isNews) return;
      this.#options.onChanged(changed);
      if ([...facts.values()].some(freesCapacity)) this.#options.onCapacity?.(session.machineId);
      if ([...facts.values()].some(({ standbyReached }) => standbyReached === 'HOST'))
        this.#options.onOffloaded?.(session.machineId);
      if ([...facts.values()].some(({ address }) => address !== '')) this.#options.onBackends(changed);
    } catch (error) {
      this.#options.logger.warn(
        { err: error, machineId: waiting.session.machineId },
        'worker reports were not written, will try again',
      );
      this.#putBack(waiting);
      throw error;
    } finally {
      this.#writing.delete(sessionId);
    }
  }

  protected override async pass(): Promise<void> {
    this.#writeLazy();
    const used = this.#used;
    const healthy = this.#healthy;
    this.#used = new Set();
    this.#healthy = new Set();
    try {
      if (used.size > 0)
        await this.#options.workers.touch(
          [...used],
          [...healthy],
          [...used].filter((id) => !this.#options.holds(id)),
        );
    } catch (error) {
      for (const id of used) this.#used.add(id);
      for (const id of healthy) this.#healthy.add(id);
      throw error;
    }
  }

  /**
   * Passes details to the writers of states. Written separately, a detail could come after a later change of state and
   * undo it.
   */
  #writeLazy(): void {
    const lazy = [...this.#lazy.values()];
    this.#lazy.clear();
    for (const waiting of lazy) this.#putBack(waiting);
    this.#writeUrgent();
  }

  #putBack({ session, facts, isNews }: Waiting): void {
    // Keep a newer value that has arrived since.
    for (const fact of facts.values())
      if (!this.#urgent.get(session.sessionId)?.facts.has(fact.workerId)) put(this.#urgent, session, fact, isNews);
  }
}

function put(waiting: Map<string, Waiting>, session: MachineSession, fact: WorkerFacts, isNews: boolean): void {
  const ofSession = waiting.get(session.sessionId) ?? { session, facts: new Map<string, WorkerFacts>(), isNews };
  ofSession.facts.set(fact.workerId, fact);
  ofSession.isNews ||= isNews;
  waiting.set(session.sessionId, ofSession);
}

/** Returns whether a worker has left its GPUs or its slot to others. */
function freesCapacity({ state, standbyReached }: WorkerFacts): boolean {
  return state === 'STOPPED' || state === 'UNHEALTHY' || standbyReached === 'HOST';
}
