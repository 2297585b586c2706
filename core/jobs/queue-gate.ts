/** Refuses submissions to a queue that is too long (compat.md 1.5), from a count that is corrected at least once a second. */
import { DomainError } from '../domain/errors.ts';
import { queueLengthMax } from '../domain/queue-limit.ts';
import type { Clock } from '../runtime/clock.ts';
import { countQueued } from '../store/count-store.ts';
import type { EndpointFacts } from '../store/count-store.ts';
import type { Database } from '../store/database.ts';

interface Entry {
  counted: number;
  /** Jobs queued here less jobs claimed here since then. */
  changed: number;
  countedAtMs: number;
  tookMs: number;
  counting: Promise<void> | undefined;
}

/** A count older than this many milliseconds is made again in the background, and before use after the other. */
const FRESH_MS = 1_000;
const USABLE_MS = 5_000;
/** Nobody is refused by a count older than this many milliseconds, or than ten times what counting takes. */
const REFUSABLE_MS = 50;
const ENTRIES_MAX = 10_000;

/** See the file's first line. */
export class QueueGate {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Lets a submission pass, at once when the count allows. QUEUE_FULL: the queue is too long. */
  admit(facts: EndpointFacts): void | Promise<void> {
    const entry = this.#entry(facts.id);
    const max = queueLengthMax(facts.workersMax);
    const ageMs = this.#clock.monotonicMs() - entry.countedAtMs;
    if (ageMs > USABLE_MS || entry.counted + entry.changed > max) return this.#admitByCount(facts, entry, max);
    // Failing in the background is fine: the count gets too old and the next submission meets the failure.
    if (ageMs > FRESH_MS) this.#count(facts.id, entry, max).catch(() => {});
  }

  /** Jobs were queued (positive) or claimed (negative) here. */
  changed(endpointId: string, count: number): void {
    const entry = this.#entries.get(endpointId);
    if (entry) entry.changed += count;
  }

  /** The queue was emptied: count again before anything is refused. */
  forget(endpointId: string): void {
    this.#entries.delete(endpointId);
  }

  async #admitByCount(facts: EndpointFacts, entry: Entry, max: number): Promise<void> {
    const ageMs = this.#clock.monotonicMs() - entry.countedAtMs;
    if (ageMs > Math.max(REFUSABLE_MS, entry.tookMs * 10)) await this.#count(facts.id, entry, max);
    if (entry.counted + entry.changed <= max) return;
    throw new DomainError('QUEUE_FULL', `The endpoint has more than ${max} queued jobs, which is the most for its workersMax of ${facts.workersMax}. `
      + 'Try again later, raise workersMax or purge the queue.');
  }

  #count(endpointId: string, entry: Entry, max: number): Promise<void> {
    entry.counting ??= this.#countOnce(endpointId, entry, max).finally(() => { entry.counting = undefined; });
    return entry.counting;
  }

  async #countOnce(endpointId: string, entry: Entry, max: number): Promise<void> {
    const startedAtMs = this.#clock.monotonicMs();
    const changedBefore = entry.changed;
    entry.counted = await countQueued(this.#database.hot, endpointId, max + 1);
    entry.changed -= changedBefore;
    entry.countedAtMs = this.#clock.monotonicMs();
    entry.tookMs = entry.countedAtMs - startedAtMs;
  }

  #entry(endpointId: string): Entry {
    let entry = this.#entries.get(endpointId);
    if (!entry) {
      const [oldest] = this.#entries.keys();
      if (this.#entries.size >= ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
      entry = { counted: 0, changed: 0, countedAtMs: -Infinity, tookMs: 0, counting: undefined };
      this.#entries.set(endpointId, entry);
    }
    return entry;
  }
}
