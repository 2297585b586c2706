/**
 * Work queue of endpoints to reconcile, and the transactions that process it. Each transaction takes a batch from the
 * queue when it begins. So an endpoint waits for running transactions, and not for all that were queued before it.
 */
import type { WorkerSample } from '../domain/scaling/scaler.ts';

/** An endpoint to reconcile, as far as its order depends on it. */
export interface QueuedReconcile {
  endpoint: { id: string; accountId: string };
  sample: { demand: { workers: readonly Pick<WorkerSample, 'desired'>[] } };
}

/**
 * Maximum number of transactions at once. They place workers one after the other; while one does, the next one reads
 * its samples. Agents' reports about a preempted worker wait until they are over.
 */
const TRANSACTIONS_MAX = 2;
/** Maximum number of endpoints per transaction. All of them share one read of the machines. */
const BATCH_MAX = 24;
/**
 * Part of a batch that is reserved for endpoints that have workers, so that first workers of others never starve them.
 */
const SCALE_UP_RESERVED = 6;

interface Item {
  reconcile: QueuedReconcile;
  done: PromiseWithResolvers<void>;
}

export class WorkQueue {
  readonly #process: (endpointIds: readonly string[]) => Promise<void>;
  readonly #queued = new Map<string, Item>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #transactions = new Set<Promise<void>>();
  #stopped = false;

  /** `process` reconciles a batch. */
  constructor(process: (endpointIds: readonly string[]) => Promise<void>) {
    this.#process = process;
  }

  /** Returns whether a reconcile of this endpoint is queued. It will see everything that happens before it begins. */
  isQueued(endpointId: string): boolean {
    return this.#queued.has(endpointId);
  }

  /** Returns the end of the running reconcile of this endpoint, `undefined` if none runs. It never rejects. */
  running(endpointId: string): Promise<void> | undefined {
    return this.#running.get(endpointId);
  }

  /** Queues endpoints. Resolves after all of them were reconciled; rejects with the first failure. */
  async add(reconciles: readonly QueuedReconcile[]): Promise<void> {
    if (this.#stopped) return;
    const all = reconciles.map((reconcile) => {
      const { id } = reconcile.endpoint;
      const item = { reconcile, done: this.#queued.get(id)?.done ?? Promise.withResolvers<void>() };
      this.#queued.set(id, item);
      return item.done.promise;
    });
    this.#begin();
    await Promise.all(all);
  }

  /** Waits for running transactions. Queued endpoints are left to the next resync. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { done } of this.#queued.values()) done.resolve();
    this.#queued.clear();
    await Promise.all(this.#transactions);
  }

  #begin(): void {
    while (this.#transactions.size < TRANSACTIONS_MAX) {
      const batch = this.#take();
      if (batch.size === 0) return;
      const transaction = this.#run(batch).finally(() => {
        this.#transactions.delete(transaction);
        this.#begin();
      });
      this.#transactions.add(transaction);
    }
  }

  /** Takes the next batch. An endpoint never runs twice at once: the second transaction would skip it as locked. */
  #take(): Map<string, Item> {
    const free = [...this.#queued.values()].filter(({ reconcile }) => !this.#running.has(reconcile.endpoint.id));
    const ids = nextBatch(free.map(({ reconcile }) => reconcile));
    const batch = new Map(ids.map((id) => [id, this.#queued.get(id)!]));
    for (const id of ids) this.#queued.delete(id);
    return batch;
  }

  async #run(batch: ReadonlyMap<string, Item>): Promise<void> {
    const processed = this.#process([...batch.keys()]);
    const ended = processed.catch(() => undefined);
    for (const id of batch.keys()) this.#running.set(id, ended);
    try {
      await processed;
      for (const { done } of batch.values()) done.resolve();
    } catch (error) {
      for (const { done } of batch.values()) done.reject(error);
    } finally {
      for (const id of batch.keys()) this.#running.delete(id);
    }
  }
}

/** Returns the ids of the next batch, in order. Pure. */
export function nextBatch(due: readonly QueuedReconcile[]): string[] {
  const [first = [], more = []] = [true, false].map((isFirst) => fairOrder(due).filter((one) => one.first === isFirst));
  const firstMax = BATCH_MAX - Math.min(more.length, SCALE_UP_RESERVED);
  return [...first.slice(0, firstMax), ...more].slice(0, BATCH_MAX).map(({ id }) => id);
}

/**
 * Orders endpoints: without workers first, and round robin over accounts, so that no account delays the others.
 */
function fairOrder(due: readonly QueuedReconcile[]): { id: string; first: boolean }[] {
  const counts = new Map<string, number>();
  const ordered = due.map(({ endpoint, sample }) => {
    const round = counts.get(endpoint.accountId) ?? 0;
    counts.set(endpoint.accountId, round + 1);
    return { id: endpoint.id, round, first: sample.demand.workers.every(({ desired }) => desired !== 'RUN') };
  });
  return ordered.toSorted((a, b) => Number(b.first) - Number(a.first) || a.round - b.round);
}
