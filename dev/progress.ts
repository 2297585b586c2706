/** Output of npm start: one short line per step, with the seconds since the start. */
import type { Clock } from '@slipway/kit/time/clock';

/** Lines of output for the user. */
export class Progress {
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonicMs();
    // The service must survive a closed terminal or a pipe into `head`.
    process.stdout.on('error', () => {});
    process.stderr.on('error', () => {});
  }

  /** Returns seconds since the start, with one decimal. */
  elapsedSeconds(): string {
    return ((this.#clock.monotonicMs() - this.#startedAt) / 1000).toFixed(1);
  }

  /** Prints a step that is done or in progress. */
  step(text: string): void {
    process.stdout.write(`${`${this.elapsedSeconds()} s`.padStart(8)}  ${text}\n`);
  }

  /** Prints a text unchanged. */
  print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Prints a problem that the user must know or fix, to stderr. */
  problem(text: string): void {
    process.stderr.write(`\n${text}\n`);
  }
}
