/** Log files of child processes. They are written by the children themselves, so they go on when the launcher is busy or gone. */
import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';

/** At a start a larger file is put aside, so that logs never grow over twice this many bytes between starts. */
const ROTATE_BYTES = 16 * 1024 * 1024;
const TAIL_BYTES = 16_384;
const TAIL_LINES = 15;

/** One process's log file. */
export class ProcessLog {
  readonly file: string;
  #startBytes = 0;

  constructor(file: string) {
    this.file = file;
    if (existsSync(file) && statSync(file).size > ROTATE_BYTES) renameSync(file, `${file}.old`);
  }

  /** Opens it for appending and remembers where this run begins. The caller closes the descriptor once the child has it. */
  open(): number {
    const descriptor = openSync(this.file, 'a', 0o600);
    this.#startBytes = statSync(this.file).size;
    return descriptor;
  }

  /** The last lines since `open`, for an error message. */
  tail(): string {
    const size = existsSync(this.file) ? statSync(this.file).size : 0;
    const from = Math.max(this.#startBytes, size - TAIL_BYTES);
    if (size <= from) return '';
    const buffer = Buffer.alloc(size - from);
    const descriptor = openSync(this.file, 'r');
    readSync(descriptor, buffer, 0, buffer.length, from);
    closeSync(descriptor);
    return buffer.toString().trim().split('\n').slice(-TAIL_LINES).map(shorten).join('\n');
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
