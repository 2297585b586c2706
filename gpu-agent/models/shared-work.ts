/** Shared work: one run for each key, whose result all callers get. It is cancelled when the last caller leaves. */
import { rejectOnAbort } from '../images/shared-pull.ts';

interface SharedRun<Result> {
  done: Promise<Result>;
  listeners: Set<(text: string) => void>;
  /** Last progress line, for those who join later. */
  text: string;
  abort: AbortController;
}

export class SharedWork<Result> {
  readonly #runs = new Map<string, SharedRun<Result>>();

  /** Joins the run of this key, or begins it. Rejects with the run's error, or the reason of `signal`. */
  async join(
    key: string,
    work: (report: (text: string) => void, signal: AbortSignal) => Promise<Result>,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted();
    // An abandoned run still owns the files that it wrote, until it has ended.
    for (let left = this.#runs.get(key); left?.abort.signal.aborted; left = this.#runs.get(key))
      await left.done.catch(() => undefined);
    signal.throwIfAborted();
    const run = this.#runs.get(key) ?? this.#begin(key, work);
    // A new object, because two callers may pass the same function.
    const listener = (text: string): void => progress(text);
    run.listeners.add(listener);
    if (run.text !== '') progress(run.text);
    try {
      return await Promise.race([run.done, rejectOnAbort(signal)]);
    } finally {
      run.listeners.delete(listener);
      if (run.listeners.size === 0) run.abort.abort(new Error('it has no waiter left'));
    }
  }

  #begin(
    key: string,
    work: (report: (text: string) => void, signal: AbortSignal) => Promise<Result>,
  ): SharedRun<Result> {
    const abort = new AbortController();
    const run: SharedRun<Result> = { done: undefined!, listeners: new Set(), text: '', abort };
    const report = (text: string): void => {
      run.text = text;
      for (const listener of run.listeners) listener(text);
    };
    const remove = (): void => {
      if (this.#runs.get(key) === run) this.#runs.delete(key);
    };
    run.done = work(report, abort.signal).finally(remove);
    // Waiting callers get the error. There may be none left.
    run.done.catch(() => undefined);
    this.#runs.set(key, run);
    return run;
  }
}
