/**
 * Which background tasks are this replica's: each has one owner at a time among the replicas on a database, by an advisory lock of the connection
 * that hears the notices. Only what a task costs depends on that: every statement of a task is right whoever says it and however often.
 */
import type { SingletonTask } from '../runtime/loop.ts';

/** Tasks that one replica does for all. */
export const SINGLETON_TASKS = ['deadlines', 'expiry', 'rescue', 'deletions', 'decisions', 'counts', 'webhooks', 'scaling'] as const;
type SingletonTaskName = (typeof SINGLETON_TASKS)[number];

export class SingletonTaskRegistry {
  readonly #held = new Set<string>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #resigned: (() => void)[] = [];
  #wanted: readonly string[] = SINGLETON_TASKS;

  /** Those that this replica would take: all, until it resigns. */
  get wanted(): readonly string[] {
    return this.#wanted;
  }

  /** One of them, for the loop that does it. */
  of(name: SingletonTaskName): SingletonTask {
    const held = this.#held;
    return {
      get mine() { return held.has(name); },
      onAcquired: (listener) => {
        const listeners = this.#listeners.get(name) ?? new Set();
        this.#listeners.set(name, listeners.add(listener));
        return () => { listeners.delete(listener); };
      },
    };
  }

  /** These are this replica's from now on, and no others. */
  set(names: readonly string[]): void {
    const taken = names.filter((name) => !this.#held.has(name));
    this.#held.clear();
    for (const name of names) this.#held.add(name);
    for (const name of taken) for (const listener of this.#listeners.get(name) ?? []) listener();
  }

  /** Gives all of them up, for a replica that is about to stop: the others take them right away. */
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
