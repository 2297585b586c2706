/** Takes the times off the lines of a Pod's log, and leaves out lines that came before. Pure, with a state. */

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Longest time at the beginning of a line, in bytes: `2026-01-02T03:04:05.123456789+01:00`. */
const TIME_BYTES_MAX = 40;
/** Bytes of a line that are held until its end comes. A longer line is passed on in parts. */
const HELD_BYTES_MAX = 64 * 1024;

export class LogLines {
  readonly #onOutput: (bytes: Buffer) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Time of the last line that was passed on, as the API wrote it; empty before the first. */
  #last = '';
  /** Number of lines of that time that were passed on. */
  #count = 0;
  /** Lines of that time that the current reading has had again. */
  #repeated = 0;
  /** Parts of the current line were passed on or left out, and the rest is treated as they were. */
  #inLine: 'passed' | 'left out' | undefined;

  constructor(onOutput: (bytes: Buffer) => void) {
    this.#onOutput = onOutput;
  }

  /** The time from which to read again, in whole seconds; `undefined` for the beginning. */
  get since(): string | undefined {
    return this.#last === '' ? undefined : `${new Date(this.#last).toISOString().slice(0, 19)}Z`;
  }

  /** Begins a new reading. The unfinished line of the previous one comes again. */
  begin(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#repeated = 0;
    if (this.#inLine === 'passed') {
      // The rest of a long line cannot be joined to its beginning: all of it comes again.
      this.#onOutput(Buffer.from('\n'));
      this.#count -= 1;
    }
    this.#inLine = undefined;
  }

  /** Takes bytes of the log. */
  push(bytes: Buffer): void {
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      this.#line(this.#joined(bytes.subarray(from, at + 1)), true);
      from = at + 1;
    }
    if (from === bytes.length) return;
    this.#held.push(bytes.subarray(from));
    this.#heldBytes += bytes.length - from;
    if (this.#heldBytes > HELD_BYTES_MAX) this.#line(this.#joined(), false);
  }

  /** Handles the end of the log, whose last line may lack a line break. */
  end(): void {
    if (this.#heldBytes > 0) this.#line(this.#joined(), true);
  }

  #joined(last?: Buffer): Buffer {
    const whole = Buffer.concat(last ? [...this.#held, last] : this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return whole;
  }

  /** Handles a line or a part of one. `isEnd`: the line ends here. */
  #line(line: Buffer, isEnd: boolean): void {
    if (this.#inLine !== undefined) {
      if (this.#inLine === 'passed') this.#onOutput(line);
      if (isEnd) this.#inLine = undefined;
      return;
    }
    const space = line.subarray(0, TIME_BYTES_MAX).indexOf(SPACE);
    const time = space < 0 ? '' : line.subarray(0, space).toString();
    const isTimed = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(time);
    const how = isTimed && this.#cameBefore(time) ? 'left out' : 'passed';
    if (how === 'passed') {
      this.#onOutput(isTimed ? line.subarray(space + 1) : line);
      if (isTimed) this.#record(time);
    }
    if (!isEnd) this.#inLine = how;
  }

  #cameBefore(time: string): boolean {
    if (this.#last === '') return false;
    const order = compare(time, this.#last);
    if (order < 0) return true;
    if (order > 0) return false;
    this.#repeated += 1;
    return this.#repeated <= this.#count;
  }

  #record(time: string): void {
    if (this.#last !== '' && compare(time, this.#last) === 0) this.#count += 1;
    else {
      this.#last = time;
      this.#count = 1;
      this.#repeated = 1;
    }
  }
}

/** Compares two times of the API. Their fractions may have different lengths. */
function compare(one: string, other: string): number {
  const [a, b] = [parts(one), parts(other)];
  return a.seconds - b.seconds || Number(a.fraction > b.fraction) - Number(a.fraction < b.fraction);
}

function parts(time: string): { seconds: number; fraction: string } {
  const [, fraction = ''] = /\.(\d+)/.exec(time) ?? [];
  return { seconds: Math.floor(Date.parse(time.replace(/\.\d+/, '')) / 1_000), fraction: fraction.padEnd(9, '0') };
}
