/**
 * The workers of one endpoint that can be given jobs, in the order in which they get them: those with the fewest first, so that work spreads over the workers;
 * of these always the same first, so that the others get idle and can go when there is less to do.
 */
import { stockOf } from './place.ts';
import type { Place } from './place.ts';

/** Entries of a heap that may be left over, besides as many as there are workers. */
const LEFTOVERS_MAX = 64;

/** Workers by rank. An entry whose worker has another number of jobs by now, or none to be given, is a leftover. */
interface Heap {
  entries: Place[];
  queued: Set<Place>;
}

export class OpenPlaces {
  readonly #places = new Set<Place>();
  /** By how many jobs a worker has. */
  readonly #byLoad: Heap[] = [];

  get size(): number {
    return this.#places.size;
  }

  [Symbol.iterator](): Iterator<Place> {
    return this.#places[Symbol.iterator]();
  }

  /** Adds a worker, or takes note of how many jobs it has now. */
  put(place: Place): void {
    this.#places.add(place);
    const load = loadOf(place);
    const heap = this.#byLoad[load] ??= { entries: [], queued: new Set() };
    if (heap.queued.has(place)) return;
    if (heap.entries.length >= 2 * this.#places.size + LEFTOVERS_MAX) this.#tidy(heap, load);
    heap.queued.add(place);
    push(heap.entries, place);
  }

  remove(place: Place): void {
    this.#places.delete(place);
  }

  /** Returns the worker whose turn it is; `undefined` if there is none. */
  first(): Place | undefined {
    if (this.#places.size === 0) return undefined;
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

  #isAt(place: Place, load: number): boolean {
    return this.#places.has(place) && loadOf(place) === load;
  }

  /** Sorted entries are a heap. */
  #tidy(heap: Heap, load: number): void {
    heap.entries = heap.entries.filter((place) => this.#isAt(place, load)).sort((a, b) => a.rank - b.rank);
    heap.queued = new Set(heap.entries);
  }
}

function push(entries: Place[], place: Place): void {
  let at = entries.push(place) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (entries[parent]!.rank <= place.rank) break;
    entries[at] = entries[parent]!;
    at = parent;
  }
  entries[at] = place;
}

function loadOf(place: Place): number {
  return stockOf(place) + place.capacity;
}

function dropTop(entries: Place[]): void {
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
