/** What the launcher says on the terminal: one short line a step, with the seconds since the start. */
import type { Clock } from '@slipway/kit/time/clock';

/** Lines for the user. */
export class Progress {
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonicMs();
    // Somebody who closes the terminal or pipes into `head` must not bring the service down.
    process.stdout.on('error', () => {});
    process.stderr.on('error', () => {});
  }

  /** Seconds since the start, with one decimal. */
  elapsedSeconds(): string {
    return ((this.#clock.monotonicMs() - this.#startedAt) / 1000).toFixed(1);
  }

  /** A step that has just been done or is being done. */
  step(text: string): void {
    process.stdout.write(`${`${this.elapsedSeconds()} s`.padStart(8)}  ${text}\n`);
  }

  /** Text as it is. */
  say(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Something the user must know or do. */
  problem(text: string): void {
    process.stderr.write(`\n${text}\n`);
  }
}
