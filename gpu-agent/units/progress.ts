/** How a preparation gets on, for people: the latest line, told at most once a second. */
import type { Clock } from '@slipway/kit/time/clock';

/** Shortest time between two lines, in milliseconds (agent_service.proto, WorkerReport.reason). */
const PERIOD_MS = 1_000;

export class Progress {
  readonly #clock: Clock;
  readonly #tell: (line: string) => void;
  #latest = '';
  #shown = '';
  #waiting = false;

  constructor(clock: Clock, tell: (line: string) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** The line that was told last. Empty: nothing is being prepared. */
  get text(): string {
    return this.#shown;
  }

  /** There is news. */
  say(line: string): void {
    this.#latest = line;
    if (this.#waiting || line === this.#shown) return;
    this.#waiting = true;
    this.#show();
    this.#clock.after(PERIOD_MS, () => {
      this.#waiting = false;
      if (this.#latest !== this.#shown) this.say(this.#latest);
    });
  }

  /** The preparation is over. */
  clear(): void {
    this.#latest = '';
    this.#shown = '';
  }

  #show(): void {
    this.#shown = this.#latest;
    this.#tell(this.#shown);
  }
}
