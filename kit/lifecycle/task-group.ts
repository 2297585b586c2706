/** Owns background work that outlives its request, so that stopping can abort it and wait for it. */
import { BaseService } from './service.ts';

export class TaskGroup extends BaseService {
  readonly name: string;
  readonly #tasks = new Set<Promise<void>>();

  constructor(name: string) {
    super();
    this.name = name;
  }

  /** Aborted when the group stops. */
  get signal(): AbortSignal {
    return this.ending;
  }

  /** Owns a promise. `onError` is called if it rejects. */
  own(work: Promise<unknown>, onError: (error: unknown) => void): void {
    const task = work.then(() => {}, onError).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  protected override onStart(): void {}

  protected override async onStop(): Promise<void> {
    await Promise.all(this.#tasks);
  }
}
