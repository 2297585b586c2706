/**
 * Ends one caller's wait early, because the caller has left or the process stops. Every call that may wait has one, so
 * it has a single listener instead of the events of an AbortSignal, which cost more than the rest of a short wait.
 */
export class WaitStopper {
  #stopped = false;
  #listener: (() => void) | undefined;

  /** True once the wait must end. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Ends the wait. Idempotent. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#listener?.();
  }

  /** Sets what is called once at the stop, at once if it was before; `undefined` removes it. One wait at a time. */
  listen(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#stopped) listener?.();
  }
}
