/**
 * Lets equal reads share one run. A read that arrives while an equal one is running waits for the next run, together
 * with all others that arrive until then. So every response comes from a run that began after its request had arrived,
 * and is never older than the request. A run can ask whether any of its readers still waits.
 */

/** Whether a reader still waits. */
type IsWaiting = () => boolean;

/** Reads once. `isWanted`: returns false once no reader waits any more. */
type Read<Answer> = (isWanted: IsWaiting) => Promise<Answer>;

/** The running read of one key, and the next one. */
interface Runs<Answer> {
  current: Promise<Answer>;
  /** Begins when the current one has ended. */
  next: Promise<Answer> | undefined;
  /** Readers of the next one. */
  nextReaders: IsWaiting[];
}

export class SharedReads<Answer> {
  readonly #runs = new Map<string, Runs<Answer>>();

  /**
   * Returns the result of `read`, shared among callers. `key` holds all that the result depends on: caller and
   * question. `isWaiting`: returns false once this caller does not need it any more.
   */
  run(key: string, read: Read<Answer>, isWaiting: IsWaiting): Promise<Answer> {
    const runs = this.#runs.get(key);
    if (!runs) return this.#begin(key, read, [isWaiting]);
    const { nextReaders } = runs;
    nextReaders.push(isWaiting);
    const begin = (): Promise<Answer> => this.#begin(key, read, nextReaders);
    runs.next ??= runs.current.then(begin, begin);
    return runs.next;
  }

  #begin(key: string, read: Read<Answer>, readers: readonly IsWaiting[]): Promise<Answer> {
    const current = read(() => readers.some((isWaiting) => isWaiting()));
    const runs: Runs<Answer> = { current, next: undefined, nextReaders: [] };
    this.#runs.set(key, runs);
    const end = (): void => {
      if (runs.next === undefined && this.#runs.get(key) === runs) this.#runs.delete(key);
    };
    current.then(end, end);
    return current;
  }
}
