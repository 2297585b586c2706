/**
 * Delays costly work for a short time: an item that is taken back in time costs nothing. One timer serves all items.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';

export class Grace<Item> {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #due: (item: Item) => void;
  #young = new Map<string, Item>();
  #old = new Map<string, Item>();
  #timer: Timer | undefined;

  /** `due` is called with an item between one and two periods after it was added, unless it was taken back. */
  constructor(options: { clock: Clock; periodMs: number; due: (item: Item) => void }) {
    this.#clock = options.clock;
    this.#periodMs = options.periodMs;
    this.#due = options.due;
  }

  add(key: string, item: Item): void {
    this.#young.set(key, item);
    this.#timer ??= this.#clock.after(this.#periodMs, () => this.#pass());
  }

  /** Takes an item back. Returns true if it still waited. */
  takeBack(key: string): boolean {
    return this.#young.delete(key) || this.#old.delete(key);
  }

  /** Ends the wait of all items at once. */
  endAll(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const items = [...this.#old.values(), ...this.#young.values()];
    this.#old.clear();
    this.#young.clear();
    for (const item of items) this.#due(item);
  }

  #pass(): void {
    const due = this.#old;
    this.#old = this.#young;
    this.#young = new Map();
    this.#timer = this.#old.size === 0 ? undefined : this.#clock.after(this.#periodMs, () => this.#pass());
    for (const item of due.values()) this.#due(item);
  }
}
