/** The signal of a job, made when its handler asks for it: most never do, and it costs more than a short job. */
export class StopSignal {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  /** Aborts when the job is stopped. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Stops the job. Idempotent. */
  stop(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}
