/**
 * Singleton tasks that this replica holds. Each has one holder at a time among the replicas on a database, by an
 * advisory lock of the connection that listens for notices. Holding a task only saves work: every statement of a task
 * is idempotent and may run on any replica.
 */
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';

/** Names of the singleton tasks. */
export const SINGLETON_TASKS = [
  'deadlines',
  'expiry',
  'drains',
  'rescue',
  'deletions',
  'decisions',
  'counts',
  'webhooks',
  'scaling',
  'batches',
  'loads',
  'alerts',
  'seals',
] as const;
type SingletonTaskName = (typeof SINGLETON_TASKS)[number];

export class SingletonTaskRegistry {
  readonly #held = new Set<string>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #resigned: (() => void)[] = [];
  #wanted: readonly string[] = SINGLETON_TASKS;

  /** Tasks that this replica would acquire: all, until it resigns. */
  get wanted(): readonly string[] {
    return this.#wanted;
  }

  /** Returns a task, for the loop that runs it. */
  of(name: SingletonTaskName): SingletonTask {
    const held = this.#held;
    return {
      get mine() {
        return held.has(name);
      },
      onAcquired: (listener) => {
        const listeners = this.#listeners.get(name) ?? new Set();
        this.#listeners.set(name, listeners.add(listener));
        return () => {
          listeners.delete(listener);
        };
      },
    };
  }

  /** Sets the tasks that this replica holds. */
  set(names: readonly string[]): void {
    const taken = names.filter((name) => !this.#held.has(name));
    this.#held.clear();
    for (const name of names) this.#held.add(name);
    for (const name of taken) for (const listener of this.#listeners.get(name) ?? []) listener();
  }

  /** Gives up all tasks before a stop, so that other replicas acquire them at once. */
  resign(): void {
    this.#wanted = [];
    this.set([]);
    for (const listener of this.#resigned) listener();
  }

  /** Calls the listener when this replica resigns. */
  onResigned(listener: () => void): void {
    this.#resigned.push(listener);
  }
}
