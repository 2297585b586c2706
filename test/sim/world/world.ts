/**
 * The world of a simulation: one seed decides everything that happens. Time is virtual and moves from event to event;
 * what an event sets off runs to its end before the next one. The hash over all events tells runs apart.
 */
import { createHash } from 'node:crypto';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import type { ChosenFault } from '../shrink.ts';
import type { Being } from './being.ts';
import type { Event } from './event-queue.ts';
import { EventQueue } from './event-queue.ts';
import { ProcessTime } from './process-time.ts';

/** The virtual instant at which every simulation begins, in milliseconds since 1970. */
export const BEGIN_MS = Date.UTC(2030, 0, 1);
/** Least time that a timer takes, in milliseconds: what asks again until a time has passed must get there. */
const LEAST_MS = 0.001;
const ID_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

export class World {
  readonly seed: number;
  #state: number;
  #libraryState: number;
  #nowMs = 0;
  #order = 0;
  readonly #events = new EventQueue();
  readonly #hash = createHash('sha256');
  readonly #lines: string[] | undefined;
  /** Faults by kind. */
  readonly faults = new Map<string, number>();
  /** Faults that the nemesis has chosen, as far as they happened. */
  readonly chosen: ChosenFault[] = [];
  #choices = 0;
  readonly #only: ReadonlySet<number> | undefined;
  readonly #time = new ProcessTime(this);

  /** `keepsTrace`: the trace is kept as text. `only`: of the chosen faults, these happen. Default: all. */
  constructor(seed: number, keepsTrace = false, only?: ReadonlySet<number>) {
    this.seed = seed;
    this.#only = only;
    this.#state = seed >>> 0;
    this.#libraryState = ~seed >>> 0;
    this.#lines = keepsTrace ? [] : undefined;
  }

  /** Virtual milliseconds since the begin. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** SHA-256 over everything that was traced. */
  get hash(): string {
    return this.#hash.copy().digest('hex');
  }

  get trace(): readonly string[] {
    return this.#lines ?? [];
  }

  /** Adds a line to the trace. */
  note(...parts: readonly (string | number)[]): void {
    const line = `${this.#nowMs.toFixed(3)} ${parts.join(' ')}`;
    this.#hash.update(line).update('\n');
    this.#lines?.push(line);
  }

  /** Counts a fault that is chosen. Returns whether it happens. */
  strikes(kind: string): boolean {
    const index = (this.#choices += 1);
    if (this.#only?.has(index) === false) return false;
    this.chosen.push({ index, text: `${this.#nowMs.toFixed(0)} ms: ${kind}` });
    return true;
  }

  /** Counts and traces a fault. */
  fault(kind: string, ...of: readonly string[]): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
    this.note('fault:', kind, ...of);
  }

  /** Returns a number in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + STEP) >>> 0;
    return fractionOf(this.#state);
  }

  /** Returns a number in [0, 1) of another sequence. */
  libraryFraction(): number {
    this.#libraryState = (this.#libraryState + STEP) >>> 0;
    return fractionOf(this.#libraryState);
  }

  /** Returns true with this probability. */
  chance(share: number): boolean {
    return this.fraction() < share;
  }

  between(least: number, most: number): number {
    return least + this.fraction() * (most - least);
  }

  /** Returns one item of a list that is not empty. */
  one<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.fraction() * items.length)]!;
  }

  /** Randomness for the code under test. */
  readonly random: Random = {
    fraction: () => this.fraction(),
    uuid: () => {
      const hex = this.#hex(32);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
    id: (length) => Array.from({ length }, () => this.one([...ID_CHARACTERS])).join(''),
    bytes: (length) => Buffer.from(this.#hex(length * 2), 'hex'),
  };

  /** Calls `run` after so many virtual milliseconds, unless `of` is dead by then. */
  after(ms: number, of: Being, run: () => void): Timer {
    return this.perform(ms, of, async () => run());
  }

  /** Like `after`, but virtual time stops until `run` resolves. `run` must not wait for a timer. */
  perform(ms: number, of: Being, run: () => Promise<void>): Timer {
    const event: Event = {
      atMs: this.#nowMs + (ms > 0 ? Math.max(ms, LEAST_MS) : 0),
      order: (this.#order += 1),
      run,
      of,
    };
    this.#events.add(event);
    return {
      cancel: () => {
        event.run = undefined;
      },
    };
  }

  /** Resolves after so many virtual milliseconds; never when `of` is dead by then. */
  pause(ms: number, of: Being): Promise<void> {
    return new Promise((resolve) => this.after(ms, of, resolve));
  }

  /** Returns the clock of a being. */
  clockOf(being: Being): Clock {
    return {
      nowMs: () => BEGIN_MS + this.#nowMs + (being.clockErrorMs ?? 0),
      monotonicMs: () => this.#nowMs,
      machineMs: () => this.#nowMs,
      after: (ms, fn) => this.after(ms, being, fn),
      soon: (fn) => {
        setImmediate(() => {
          if (!being.dead) fn();
        });
      },
    };
  }

  /** Runs events until a condition holds or the time is over. Returns whether it holds. */
  async run(isOver: () => boolean, untilMs: number): Promise<boolean> {
    this.#time.install();
    try {
      await this.#time.settle();
      while (!isOver()) {
        const next = this.#events.take();
        if (!next || next.atMs > untilMs) return false;
        this.#nowMs = Math.max(this.#nowMs, next.atMs);
        await next.run!();
        await this.#time.settle();
      }
      return true;
    } finally {
      this.#time.restore();
    }
  }

  #hex(length: number): string {
    return Array.from({ length }, () => Math.floor(this.fraction() * 16).toString(16)).join('');
  }
}

const STEP = 0x6d2b79f5;

/** Returns a number in [0, 1) by a state of the generator (mulberry32). */
function fractionOf(state: number): number {
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
