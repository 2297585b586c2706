/** Writes the output of the command line: results to stdout, everything else to stderr. */
import { styleText } from 'node:util';
import { printable } from '@slipway/kit/log/printable';
import type { Clock } from '@slipway/kit/time/clock';
import type { Failure } from '../failures.ts';
import { isOwnCode } from '../failures.ts';
import type { Column, Field } from './table.ts';
import { renderFields, renderTable } from './table.ts';

/** Destination of text: process.stdout, process.stderr, or a test's stream. */
export type Sink = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };

/** Style of text. Ignored on terminals with NO_COLOR, and if the destination is no terminal. */
type TextStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** Size of a terminal that does not know it: 0, as in a container until the first resize. */
const [ROWS, COLUMNS] = [24, 80];

export class Output {
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #clock: Clock;
  /** Writes one JSON document instead of text for people. */
  json = false;
  /** Writes tables in full width, also on a terminal. */
  wide = false;
  /** Collects lines instead of writing them. `undefined`: writes them. */
  #collected: string[] | undefined;
  #progress = '';
  #lastPlain = '';

  constructor(stdout: Sink, stderr: Sink, clock: Clock) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#clock = clock;
  }

  /** Returns milliseconds since 1970, for relative times. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** Writes the result of a command: `document` for programs, the output of `forPeople` for people. */
  result(document: unknown, forPeople: () => void): void {
    if (this.json) this.line(JSON.stringify(document, null, 2));
    else forPeople();
  }

  /** Writes a line of the result. */
  line(text: string): void {
    if (this.#collected) {
      this.#collected.push(...text.split('\n'));
      return;
    }
    this.clearProgress();
    // JSON does not escape all control characters. On a terminal the others are escaped too, which keeps the meaning.
    this.#stdout.write(`${this.json && this.#stdout.isTTY ? printable(text, '\n\r\t') : text}\n`);
  }

  /** Writes a part of a result that contains line ends. A terminal gets control characters as visible escapes. */
  text(part: string): void {
    this.clearProgress();
    this.#stdout.write(this.#stdout.isTTY ? printable(part, '\n') : part);
  }

  /** Writes rows as a table, or the note `empty` if there are none. */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], empty: string): void {
    if (rows.length === 0) return this.note(empty);
    const [head, ...lines] = renderTable(columns, rows, this.wide ? Infinity : this.terminalColumns);
    this.line(this.style('bold', head!));
    for (const line of lines) this.line(line);
  }

  /** Writes one record, a field per line. */
  fields(fields: readonly Field[]): void {
    for (const { name, value } of renderFields(fields)) this.line(`${this.style('dim', name)}  ${value}`);
  }

  /** Runs `work` and returns the lines and notes that it would have written. */
  async collect(work: () => Promise<void>): Promise<string[]> {
    const lines: string[] = [];
    this.#collected = lines;
    try {
      await work();
      return lines;
    } finally {
      this.#collected = undefined;
    }
  }

  /** Shows lines in place of everything on the terminal, cut to its height. Elsewhere they follow each other. */
  redraw(lines: readonly string[]): void {
    this.clearProgress();
    if (!this.#stdout.isTTY) {
      this.#stdout.write(`${lines.join('\n')}\n\n`);
      return;
    }
    const height = (this.#stdout.rows || ROWS) - 1;
    const shown =
      lines.length <= height ? lines : [...lines.slice(0, height - 1), `… ${lines.length - height + 1} more lines`];
    this.#stdout.write(`\u001b[H${shown.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
  }

  /** Writes a note for people. It is not part of the result. */
  note(text: string): void {
    if (this.#collected) {
      this.#collected.push(...text.split('\n'));
      return;
    }
    this.clearProgress();
    this.#stderr.write(`${text}\n`);
  }

  /** Writes the reason why the command failed: for programs as one line of JSON, see docs/reference/command-line.md. */
  error({ code, message, hint, exitCode }: Failure): void {
    if (this.json) {
      const error = { code, message: printable(message, '\n'), ...(hint !== undefined && { hint }), exitCode };
      return this.note(JSON.stringify({ error }));
    }
    const name = isOwnCode(code) ? '' : `${code}: `;
    const text = `${name}${message}${hint === undefined ? '' : `\n${hint}`}`;
    this.note(`${this.style('red', 'error:', this.#stderr)} ${printable(text, '\n')}`);
  }

  /**
   * Shows the current wait. A terminal shows one line that is overwritten; other destinations get a line whenever
   * `what` changes. `detail` may change at any time.
   */
  progress(what: string, detail = ''): void {
    if (!this.#stderr.isTTY) {
      if (what !== this.#lastPlain) this.#stderr.write(`${what}\n`);
      this.#lastPlain = what;
      return;
    }
    const columns = this.#stderr.columns || COLUMNS;
    const text = printable(detail === '' ? what : `${what}  ${detail}`).slice(0, columns - 1);
    this.#stderr.write(`\r\u001b[K${this.style('dim', text, this.#stderr)}`);
    this.#progress = text;
  }

  /** Removes the progress line. */
  clearProgress(): void {
    if (this.#progress !== '') this.#stderr.write('\r\u001b[K');
    this.#progress = '';
  }

  /** Columns of the terminal. Infinity if the results go elsewhere. */
  get terminalColumns(): number {
    return (this.#stdout.isTTY && this.#stdout.columns) || Infinity;
  }

  /** Returns text in a style, if the sink supports it. */
  style(style: TextStyle, text: string, sink: Sink = this.#stdout): string {
    return styleText(style, text, { stream: sink });
  }
}
