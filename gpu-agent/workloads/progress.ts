/** Progress of a preparation, for people: the latest line, reported at most once a second. */
import type { Clock } from '@slipway/kit/time/clock';

/** Shortest time between two lines, in milliseconds (agent_service.proto, WorkerReport.reason). */
const PERIOD_MS = 1_000;

export class Progress {
  readonly #clock: Clock;
  readonly #onLine: (line: string) => void;
  #latest = '';
  #shown = '';
  #waiting = false;

  constructor(clock: Clock, onLine: (line: string) => void) {
    this.#clock = clock;
    this.#onLine = onLine;
  }

  /** The line that was reported last. Empty if nothing is being prepared. */
  get text(): string {
    return this.#shown;
  }

  /** Records a new line and reports it, at once or after the period. */
  report(line: string): void {
    this.#latest = line;
    if (this.#waiting || line === this.#shown) return;
    this.#waiting = true;
    this.#show();
    this.#clock.after(PERIOD_MS, () => {
      this.#waiting = false;
      if (this.#latest !== this.#shown) this.report(this.#latest);
    });
  }

  /** Clears the progress when the preparation is over. */
  clear(): void {
    this.#latest = '';
    this.#shown = '';
  }

  #show(): void {
    this.#shown = this.#latest;
    this.#onLine(this.#shown);
  }
}
