/** The events of a world, ordered by their time, then by their number: a binary heap. */
import type { Being } from './being.ts';

export interface Event {
  atMs: number;
  order: number;
  /** `undefined`: it was cancelled. */
  run: (() => Promise<void>) | undefined;
  of: Being;
}

export class EventQueue {
  readonly #heap: Event[] = [];

  add(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  /** Removes the earliest event that can still happen. An event of a being that hangs happens when it hangs no more. */
  take(): Event | undefined {
    for (;;) {
      const first = this.#removeFirst();
      if (!first) return undefined;
      if (first.run === undefined || first.of.dead) continue;
      const { hangsUntilMs = 0 } = first.of;
      if (hangsUntilMs <= first.atMs) return first;
      first.atMs = hangsUntilMs;
      this.add(first);
    }
  }

  #removeFirst(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
