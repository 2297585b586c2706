/**
 * Log files of child processes. They are written by the children themselves, so they go on when the launcher is busy or
 * gone.
 */
import { closeSync, copyFileSync, existsSync, openSync, readSync, statSync, truncateSync } from 'node:fs';

/**
 * A larger file is put aside, at a start and while the process runs: two of them are kept, this one and the one before.
 */
export const ROTATE_BYTES = 16 * 1024 * 1024;
const TAIL_BYTES = 16_384;
const TAIL_LINES = 15;
const LINE_LENGTH_MAX = 300;

/** One process's log file. */
export class ProcessLog {
  readonly file: string;
  #startBytes = 0;

  constructor(file: string) {
    this.file = file;
    this.rotate();
  }

  /**
   * Puts what is in it aside once that is much. The process goes on writing at the file's new end: it was opened for
   * appending.
   */
  rotate(): void {
    if (!existsSync(this.file) || statSync(this.file).size <= ROTATE_BYTES) return;
    copyFileSync(this.file, `${this.file}.old`);
    truncateSync(this.file);
    this.#startBytes = 0;
  }

  /**
   * Opens it for appending and remembers where this run begins. The caller closes the descriptor once the child has it.
   */
  open(): number {
    const descriptor = openSync(this.file, 'a', 0o600);
    this.#startBytes = statSync(this.file).size;
    return descriptor;
  }

  /** The last lines since `open`, for an error message. */
  tail(): string {
    return this.#lines().slice(-TAIL_LINES).map(shorten).join('\n');
  }

  /** The last line since `open` that speaks of an error, else the last of all; empty when there is none. */
  lastError(): string {
    const lines = this.#lines();
    const line = lines.findLast(speaksOfError) ?? lines.at(-1) ?? '';
    return shorten(line).split('\n')[0]!.slice(0, LINE_LENGTH_MAX);
  }

  #lines(): string[] {
    const size = existsSync(this.file) ? statSync(this.file).size : 0;
    const from = Math.max(this.#startBytes, size - TAIL_BYTES);
    if (size <= from) return [];
    const buffer = Buffer.alloc(size - from);
    const descriptor = openSync(this.file, 'r');
    readSync(descriptor, buffer, 0, buffer.length, from);
    closeSync(descriptor);
    return buffer.toString().trim().split('\n');
  }
}

/** Our own processes log JSON; of that the sentence and the error's text are what a person wants to see. */
function shorten(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    return msg === undefined ? line : [msg, err?.message].filter(Boolean).join(': ');
  } catch {
    return line;
  }
}

const LEVEL_ERROR = 50;

function speaksOfError(line: string): boolean {
  try {
    const { level } = JSON.parse(line) as { level?: number | string };
    return level === 'error' || level === 'fatal' || (typeof level === 'number' && level >= LEVEL_ERROR);
  } catch {
    return /\b(?:\w*error|fatal|panic)\b/i.test(line);
  }
}
