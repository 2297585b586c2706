/**
 * Workers of one endpoint with free slots, in reserve order: least loaded first, so that work spreads; ties always in
 * the same order, so that the other workers become idle and can stop.
 */

import type { WorkerSlots } from './worker-slots.ts';
import { prefetchedBy } from './worker-slots.ts';

/** Entries of a heap that may be left over, besides as many as there are workers. */
const LEFTOVERS_MAX = 64;

/** Workers by rank. An entry whose worker has another number of jobs by now, or none to be given, is a leftover. */
interface Heap {
  entries: WorkerSlots[];
  queued: Set<WorkerSlots>;
}

export class OpenWorkers {
  readonly #workers = new Set<WorkerSlots>();
  /** Heaps of workers, indexed by the number of their jobs. */
  readonly #byLoad: Heap[] = [];

  get size(): number {
    return this.#workers.size;
  }

  [Symbol.iterator](): Iterator<WorkerSlots> {
    return this.#workers[Symbol.iterator]();
  }

  /** Adds a worker, or updates its load. */
  put(worker: WorkerSlots): void {
    this.#workers.add(worker);
    const load = loadOf(worker);
    const heap = (this.#byLoad[load] ??= { entries: [], queued: new Set() });
    if (heap.queued.has(worker)) return;
    if (heap.entries.length >= 2 * this.#workers.size + LEFTOVERS_MAX) this.#tidy(heap, load);
    heap.queued.add(worker);
    push(heap.entries, worker);
  }

  remove(worker: WorkerSlots): void {
    this.#workers.delete(worker);
  }

  /** Returns the next worker to reserve; `undefined` if there is none. */
  first(): WorkerSlots | undefined {
    if (this.#workers.size === 0) return undefined;
    for (let load = 0; load < this.#byLoad.length; load += 1) {
      const heap = this.#byLoad[load];
      for (let top = heap?.entries[0]; top; top = heap!.entries[0]) {
        if (this.#isAt(top, load)) return top;
        heap!.queued.delete(top);
        dropTop(heap!.entries);
      }
    }
    return undefined;
  }

  #isAt(worker: WorkerSlots, load: number): boolean {
    return this.#workers.has(worker) && loadOf(worker) === load;
  }

  /** Drops stale entries and sorts the rest: a sorted array is a heap. */
  #tidy(heap: Heap, load: number): void {
    heap.entries = heap.entries.filter((worker) => this.#isAt(worker, load)).sort((a, b) => a.rank - b.rank);
    heap.queued = new Set(heap.entries);
  }
}

function push(entries: WorkerSlots[], worker: WorkerSlots): void {
  let at = entries.push(worker) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (entries[parent]!.rank <= worker.rank) break;
    entries[at] = entries[parent]!;
    at = parent;
  }
  entries[at] = worker;
}

function loadOf(worker: WorkerSlots): number {
  return prefetchedBy(worker) + worker.capacity;
}

function dropTop(entries: WorkerSlots[]): void {
  const last = entries.pop()!;
  if (entries.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= entries.length) break;
    if (child + 1 < entries.length && entries[child + 1]!.rank < entries[child]!.rank) child += 1;
    if (entries[child]!.rank >= last.rank) break;
    entries[at] = entries[child]!;
    at = child;
  }
  entries[at] = last;
}
