/**
 * Longest wait for an answer before its sender counts as gone. It grows while the other side is slow but not silent,
 * and falls again when answers come in time: a fixed limit would cut a slow host's connections again and again, and
 * each new connection costs that host more than an answer.
 */

/** Bounds of a limit, in milliseconds. */
interface AnswerLimitOptions {
  /** The limit while answers come in time. */
  firstMs: number;
  maxMs: number;
}

/** An answer may take this many times as long as the last one. */
const MARGIN = 3;
const GROWTH = 2;
/** Share of the limit that is kept at each answer in time. */
const DECAY = 0.75;

export class AnswerLimit {
  readonly #options: AnswerLimitOptions;
  #ms: number;

  constructor(options: AnswerLimitOptions) {
    this.#options = options;
    this.#ms = options.firstMs;
  }

  /** Returns the limit in milliseconds. */
  get ms(): number {
    return this.#ms;
  }

  /** Returns by how much the limit has grown: 1 while answers come in time. Other limits grow with it. */
  get factor(): number {
    return this.#ms / this.#options.firstMs;
  }

  /** Records how long an answer took, in milliseconds. */
  answered(tookMs: number): void {
    const { firstMs, maxMs } = this.#options;
    this.#ms = Math.min(maxMs, Math.max(firstMs, MARGIN * tookMs, DECAY * this.#ms));
  }

  /** Records that an answer did not come in time, though the other side is not silent. */
  missed(): void {
    this.#ms = Math.min(this.#options.maxMs, GROWTH * this.#ms);
  }
}
