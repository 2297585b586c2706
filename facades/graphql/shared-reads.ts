/**
 * Lets equal reads share one run. A read that arrives while an equal one is running waits for the next run, together
 * with all others that arrive until then. So every response comes from a run that began after its request had arrived,
 * and is never older than the request.
 */

/** The running read of one key, and the next one. */
interface Runs<Answer> {
  current: Promise<Answer>;
  /** Begins when the current one has ended. */
  next: Promise<Answer> | undefined;
}

export class SharedReads<Answer> {
  readonly #runs = new Map<string, Runs<Answer>>();

  /**
   * Returns the result of `read`, shared among callers. `key` holds all that the result depends on: caller and
   * question.
   */
  run(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const runs = this.#runs.get(key);
    if (!runs) return this.#begin(key, read);
    runs.next ??= runs.current.then(
      () => this.#begin(key, read),
      () => this.#begin(key, read),
    );
    return runs.next;
  }

  #begin(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const current = read();
    const runs: Runs<Answer> = { current, next: undefined };
    this.#runs.set(key, runs);
    const end = (): void => {
      if (runs.next === undefined && this.#runs.get(key) === runs) this.#runs.delete(key);
    };
    current.then(end, end);
    return current;
  }
}
