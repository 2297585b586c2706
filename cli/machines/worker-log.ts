/** Reads a worker's log piece by piece and splits it into lines. */
import { StringDecoder } from 'node:string_decoder';
import type { Cli } from '../cli.ts';
import { lastLines, newBytes } from './log-window.ts';

/** Options of every command that shows a log. */
export interface LogTailOptions {
  follow?: boolean;
  /** Lines to begin with. */
  tail: number;
}

/** Reads the last bytes of a log. */
export type ReadLog = (tailBytes: number) => Promise<Buffer>;

/** Bytes of each read. An agent keeps 1 MiB of each log. */
const LOG_WINDOW_BYTES = 256 * 1024;

/** Returns the reader of a worker's log. */
export function workerLog(cli: Cli, workerId: string): ReadLog {
  return async (tailBytes) =>
    (await cli.core.machines.call((client) => client.getWorkerLog, { workerId, tailBytes })).log;
}

export class LogLines {
  readonly #read: ReadLog;
  readonly #decoder = new StringDecoder('utf8');
  #seen: Buffer | undefined;
  #rest = '';

  /** Number of lines to begin with. */
  readonly #tail: number;

  constructor(read: ReadLog, tail: number) {
    this.#read = read;
    this.#tail = tail;
  }

  /** Returns the lines since the last read. */
  async next(): Promise<string[]> {
    const log = await this.#read(LOG_WINDOW_BYTES);
    const fresh = this.#seen === undefined ? lastLines(log, this.#tail) : newBytes(this.#seen, log, LOG_WINDOW_BYTES);
    this.#seen = Buffer.from(log);
    const lines = (this.#rest + this.#decoder.write(fresh)).split('\n');
    this.#rest = lines.pop()!;
    return lines;
  }

  /** Returns the text after the last line end. */
  rest(): string[] {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}
