/** All that the command line writes: results on stdout, everything else on stderr. */
import { styleText } from 'node:util';
import type { Clock } from '@slipway/kit/time/clock';
import { printable } from './printable.ts';
import type { Column, Field } from './table.ts';
import { renderFields, renderTable } from './table.ts';

/** Where text goes: process.stdout or process.stderr, or a test's own. */
export type Sink = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** A look of text; without colours on a terminal that wants none (NO_COLOR) and on everything that is no terminal. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

export class Output {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #clock: Clock;
  /** One JSON document instead of text for people. */
  json = false;
  #progress = '';
  #lastPlain = '';

  constructor(stdout: Sink, stderr: Sink, clock: Clock) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#clock = clock;
  }

  /** Milliseconds since 1970, for relative times. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** The result of a command: `document` for programs, whatever `forPeople` writes for people. */
  result(document: unknown, forPeople: () => void): void {
    if (this.json) this.line(JSON.stringify(document, null, 2));
    else forPeople();
  }

  /** A line of the result. */
  line(text: string): void {
    this.clearProgress();
    // JSON escapes some control characters by itself and not all; on a terminal the others are escaped too, which means
    // the same.
    this.#stdout.write(`${this.json && this.#stdout.isTTY ? printable(text, '\n\r\t') : text}\n`);
  }

  /** Rows as a table; `empty` says what it means that there are none. */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], empty: string): void {
    if (rows.length === 0) return this.note(empty);
    const [head, ...lines] = renderTable(columns, rows);
    this.line(this.look('bold', head!));
    for (const line of lines) this.line(line);
  }

  /** One thing, a field a line. */
  fields(fields: readonly Field[]): void {
    for (const { name, value } of renderFields(fields)) this.line(`${this.look('dim', name)}  ${value}`);
  }

  /** Something to know, for people; not part of the result. */
  note(text: string): void {
    this.clearProgress();
    this.#stderr.write(`${text}\n`);
  }

  /** Why the command failed. */
  error(text: string): void {
    this.note(`${this.look('red', 'error:', this.#stderr)} ${printable(text, '\n')}`);
  }

  /**
   * What is being waited for. On a terminal one line that is written anew; elsewhere a line whenever `what` changes.
   * `detail` may change all the time.
   */
  progress(what: string, detail = ''): void {
    if (!this.#stderr.isTTY) {
      if (what !== this.#lastPlain) this.#stderr.write(`${what}\n`);
      this.#lastPlain = what;
      return;
    }
    const text = printable(detail === '' ? what : `${what}  ${detail}`).slice(0, (this.#stderr.columns ?? 80) - 1);
    this.#stderr.write(`\r\u001b[K${this.look('dim', text, this.#stderr)}`);
    this.#progress = text;
  }

  /** Takes the progress line away. */
  clearProgress(): void {
    if (this.#progress !== '') this.#stderr.write('\r\u001b[K');
    this.#progress = '';
  }

  /** Text with a look, where the sink shows one. */
  look(look: Look, text: string, sink: Sink = this.#stdout): string {
    return styleText(look, text, { stream: sink });
  }
}
