/** Owns work that goes on after its caller got an answer, so that stopping can end it and wait for it. */
import type { Service } from './service.ts';

export class TaskGroup implements Service {
  readonly name: string;
  readonly #ending = new AbortController();
  readonly #tasks = new Set<Promise<void>>();

  constructor(name: string) {
    this.name = name;
  }

  /** Aborted when the group stops. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Takes over a promise; `onError` hears of its failure. */
  own(work: Promise<unknown>, onError: (error: unknown) => void): void {
    const task = work.then(() => {}, onError).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#tasks);
  }
}
