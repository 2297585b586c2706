/**
 * Log files of child processes. The children write them directly, so a busy or dead launcher loses no line.
 */
import { closeSync, copyFileSync, existsSync, openSync, readSync, statSync, truncateSync } from 'node:fs';

/**
 * Size above which a log file is rotated, in bytes. Checked at a start and while the process runs. Two files are kept:
 * the current one and the previous one.
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
   * Rotates the file if it is too large. The process then writes at the end of the new file, because it opened the
   * file for appending.
   */
  rotate(): void {
    if (!existsSync(this.file) || statSync(this.file).size <= ROTATE_BYTES) return;
    copyFileSync(this.file, `${this.file}.old`);
    truncateSync(this.file);
    this.#startBytes = 0;
  }

  /**
   * Opens the file for appending and remembers where this run begins. The caller closes the descriptor once the child
   * has it.
   */
  open(): number {
    const descriptor = openSync(this.file, 'a', 0o600);
    this.#startBytes = statSync(this.file).size;
    return descriptor;
  }

  /** Size of the file in bytes. */
  get bytes(): number {
    return existsSync(this.file) ? statSync(this.file).size : 0;
  }

  /** Returns the last line since `open`; empty if there is none. */
  lastLine(): string {
    return shorten(this.#lines().at(-1) ?? '')
      .split('\n')[0]!
      .slice(0, LINE_LENGTH_MAX);
  }

  /** Returns the last lines since `open`, for an error message. */
  tail(): string {
    return this.#lines().slice(-TAIL_LINES).map(shorten).join('\n');
  }

  /** Returns the last line since `open` that mentions an error, else the last line; empty if there is none. */
  lastError(): string {
    const lines = this.#lines();
    const line = lines.findLast(speaksOfError) ?? lines.at(-1) ?? '';
    return shorten(line).split('\n')[0]!.slice(0, LINE_LENGTH_MAX);
  }

  #lines(): string[] {
    const size = this.bytes;
    const from = Math.max(this.#startBytes, size - TAIL_BYTES);
    if (size <= from) return [];
    const buffer = Buffer.alloc(size - from);
    const descriptor = openSync(this.file, 'r');
    readSync(descriptor, buffer, 0, buffer.length, from);
    closeSync(descriptor);
    return buffer.toString().trim().split('\n');
  }
}

/** Shortens a line. Our own processes log JSON, of which a person wants only the message and the error's text. */
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
