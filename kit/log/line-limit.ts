/**
 * Bounds the lines of a log. Whoever can cause a line, a worker, a tenant or a client, could else fill the disk with
 * it. A cause is a sentence and what it is about: after some lines of it within a window the others are counted, and
 * one line with their number ends the window.
 */
import type { Clock, Timer } from '../time/clock.ts';

const WINDOW_MS = 10_000;
/** Lines of one cause in a window. */
const OF_CAUSE_MAX = 20;
/**
 * Lines of one sentence in a window, whatever they are about: who makes endpoints by the hundred has no more lines by
 * that.
 */
const OF_SENTENCE_MAX = 200;
/** Causes that are counted apart in a window; all others are counted together. */
const CAUSES_MAX = 1_000;
const OTHERS = 'others';
/** Causes whose lines that were left out are told of at the end of a window, those with the most. */
const TOLD_MAX = 50;
/** What a line is about, the first that it names. */
const OWNERS = ['endpointId', 'podId', 'accountId', 'workerId', 'unitId', 'machineId', 'url', 'address'] as const;
const NAME_LENGTH_MAX = 200;

/** Lines that were left out of a log in a window. */
export interface LeftOut {
  sentence: string;
  /** Name and value of what the lines were about; undefined where they name nothing, or many things. */
  owner: [name: string, value: string] | undefined;
  lines: number;
  seconds: number;
}

interface Cause extends Omit<LeftOut, 'seconds'> {
  written: number;
}

export class LineLimit {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #tell: (left: LeftOut) => void;
  readonly #causes = new Map<string, Cause>();
  /** Lines by sentence that were written in this window. */
  readonly #written = new Map<string, number>();
  #window: Timer | undefined;

  /** `tell` is called at the end of a window, once for each cause with left-out lines. */
  constructor(clock: Pick<Clock, 'after'>, tell: (left: LeftOut) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Returns whether a line is to be written, and counts it where it is not. `args` are those of the logger's call. */
  admits(args: readonly unknown[]): boolean {
    this.#window ??= this.#clock.after(WINDOW_MS, () => this.#end());
    const cause = this.#causeOf(
      String(args.find((arg) => typeof arg === 'string') ?? '').slice(0, NAME_LENGTH_MAX),
      ownerIn(args[0]),
    );
    const written = this.#written.get(cause.sentence) ?? 0;
    if (cause.written >= OF_CAUSE_MAX || written >= OF_SENTENCE_MAX) {
      cause.lines += 1;
      return false;
    }
    cause.written += 1;
    this.#written.set(cause.sentence, written + 1);
    return true;
  }

  #causeOf(sentence: string, owner: LeftOut['owner']): Cause {
    const key = `${sentence}\n${owner?.join() ?? ''}`;
    const known = this.#causes.get(key);
    if (known) return known;
    // What is about nobody is the process's own: it has room that no tenant can fill.
    const isFull = this.#causes.size >= (owner ? CAUSES_MAX : 2 * CAUSES_MAX);
    if (isFull && sentence !== OTHERS) return this.#causeOf(OTHERS, undefined);
    const cause = { sentence, owner, lines: 0, written: 0 };
    this.#causes.set(key, cause);
    return cause;
  }

  #end(): void {
    const left = [...this.#causes.values()]
      .filter(({ lines }) => lines > 0)
      .toSorted((one, other) => other.lines - one.lines);
    this.#causes.clear();
    this.#written.clear();
    this.#window = undefined;
    for (const { sentence, owner, lines } of left.slice(0, TOLD_MAX))
      this.#tell({ sentence, owner, lines, seconds: WINDOW_MS / 1_000 });
  }
}

/** A value of a caller is read with care: a line must never fail. */
function ownerIn(fields: unknown): LeftOut['owner'] {
  if (typeof fields !== 'object' || fields === null || fields instanceof Error) return undefined;
  try {
    for (const name of OWNERS) {
      const value = (fields as Record<string, unknown>)[name];
      if (typeof value === 'string' && value !== '') return [name, value.slice(0, NAME_LENGTH_MAX)];
    }
  } catch {
    // A getter that throws names nothing.
  }
  return undefined;
}
