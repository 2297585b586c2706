/**
 * Bounds the lines of a log, so that no worker, tenant or client can fill the disk. A cause is a sentence and the thing
 * it is about. After some lines of a cause in a window further ones are only counted, and one line with their number
 * ends the window.
 */
import type { Clock, Timer } from '../time/clock.ts';

const WINDOW_MS = 10_000;
/** Lines of one cause in a window. */
const OF_CAUSE_MAX = 20;
/**
 * Lines of one sentence in a window, whatever they are about: a tenant with hundreds of endpoints gets no more.
 */
const OF_SENTENCE_MAX = 200;
/** Causes that are counted apart in a window. Further lines are counted by their sentence alone. */
const CAUSES_MAX = 1_000;
/** The table's size from which only warnings and errors get causes of their own. */
const ORDINARY_CAUSES_MAX = CAUSES_MAX / 2;
/** Stands for all sentences beyond twice `CAUSES_MAX`. */
const OTHERS = 'others';
/** Causes reported at the end of a window: first warnings and errors, then the causes with the most omitted lines. */
const REPORTED_MAX = 50;
/** Fields that name the thing a line is about; the first one counts. */
const OWNERS = ['endpointId', 'podId', 'accountId', 'workerId', 'workloadId', 'machineId', 'url', 'address'] as const;
const NAME_LENGTH_MAX = 200;

/** Omitted lines of one cause in a window. */
interface OmittedLines {
  sentence: string;
  /** Field name and value of the thing the lines are about; `undefined` if they name none, or several. */
  owner: [name: string, value: string] | undefined;
  lines: number;
  /** True if one of them was a warning or an error. */
  isFault: boolean;
  seconds: number;
}

interface Cause extends Omit<OmittedLines, 'seconds'> {
  written: number;
}

export class LineLimit {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #report: (left: OmittedLines) => void;
  readonly #causes = new Map<string, Cause>();
  /** Lines by sentence that were written in this window. */
  readonly #written = new Map<string, number>();
  #window: Timer | undefined;

  /** `report` is called at the end of a window, once for each cause with left-out lines. */
  constructor(clock: Pick<Clock, 'after'>, report: (left: OmittedLines) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /**
   * Returns whether to write a line, and counts it if not. `args`: arguments of the logger's call. `isFault`: it is a
   * warning or an error.
   */
  admits(args: readonly unknown[], isFault: boolean): boolean {
    this.#window ??= this.#clock.after(WINDOW_MS, () => this.#end());
    const cause = this.#causeOf(
      String(args.find((arg) => typeof arg === 'string') ?? '').slice(0, NAME_LENGTH_MAX),
      ownerIn(args[0]),
      isFault,
    );
    const written = this.#written.get(cause.sentence) ?? 0;
    if (cause.written >= OF_CAUSE_MAX || written >= OF_SENTENCE_MAX) {
      cause.lines += 1;
      cause.isFault ||= isFault;
      return false;
    }
    cause.written += 1;
    this.#written.set(cause.sentence, written + 1);
    return true;
  }

  #causeOf(sentence: string, owner: OmittedLines['owner'], isFault: boolean): Cause {
    const key = `${sentence}\n${owner?.join() ?? ''}`;
    const known = this.#causes.get(key);
    if (known) return known;
    if (owner && this.#countsTogether(sentence, isFault)) return this.#causeOf(sentence, undefined, isFault);
    // Lines about nothing are the process's own: they have a share that no tenant can use up.
    if (this.#causes.size >= 2 * CAUSES_MAX && sentence !== OTHERS) return this.#causeOf(OTHERS, undefined, isFault);
    const cause = { sentence, owner, lines: 0, isFault: false, written: 0 };
    this.#causes.set(key, cause);
    return cause;
  }

  /** Returns whether a further owner of this sentence is not counted apart: the table or the sentence is full. */
  #countsTogether(sentence: string, isFault: boolean): boolean {
    const isFull = this.#causes.size >= (isFault ? CAUSES_MAX : ORDINARY_CAUSES_MAX);
    return isFull || (this.#written.get(sentence) ?? 0) >= OF_SENTENCE_MAX;
  }

  #end(): void {
    const left = [...this.#causes.values()]
      .filter(({ lines }) => lines > 0)
      .toSorted((one, other) => Number(other.isFault) - Number(one.isFault) || other.lines - one.lines);
    this.#causes.clear();
    this.#written.clear();
    this.#window = undefined;
    for (const { sentence, owner, lines, isFault } of left.slice(0, REPORTED_MAX))
      this.#report({ sentence, owner, lines, isFault, seconds: WINDOW_MS / 1_000 });
  }
}

/** Returns the thing a line is about. Never throws, whatever the caller passed. */
function ownerIn(fields: unknown): OmittedLines['owner'] {
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
