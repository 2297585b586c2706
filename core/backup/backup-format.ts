/**
 * Form of a backup: text, compressed by Zstandard with a checksum. The first line is JSON about the whole. Each table
 * follows as a line of JSON, its rows in PostgreSQL's text format, and a line `\.`. The last line is JSON with the
 * positions of sequences and the number of rows; a file without it was cut off.
 */
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { DatabaseContents, DatabaseFacts } from '../store/backup/backup-contents.ts';
import type { SequencePosition, TableShape } from '../store/backup/catalog-tables.ts';

const FORMAT = 'slipway-backup';
const FORMAT_VERSION = 1;
const LEVEL = 3;
/** Rows are passed on together from this size, in bytes. */
const PIECE_BYTES = 64 * 1024;
const END_OF_ROWS = Buffer.from('\\.\n');
const LINE_END = 10;

/** The first line of a backup. */
export interface BackupHead extends DatabaseFacts {
  format: typeof FORMAT;
  version: number;
  /** Version of Slipway that made it. */
  release: string;
}

/** Its last line. */
interface BackupEnd {
  sequences: SequencePosition[];
  /** Rows of all tables together. */
  rows: number;
}

/** Progress of a backup or restore. */
export interface BackupProgress {
  table: string;
  /** Rows of this table so far. */
  rows: number;
  /** True once the table is complete. */
  done: boolean;
}

/** The file is no backup, or is damaged. */
export class BackupFormatError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackupFormatError';
  }
}

/** Returns the compressing stream of a backup. */
export function compression() {
  const { ZSTD_c_compressionLevel: level, ZSTD_c_checksumFlag: checksum } = constants;
  return createZstdCompress({ params: { [level]: LEVEL, [checksum]: 1 } });
}

/** Returns the stream that undoes it. It fails where the file is damaged. */
export function decompression() {
  return createZstdDecompress();
}

/** Returns a backup of these contents, uncompressed. */
export async function* writeBackup(
  { facts, tables, sequences, rows }: DatabaseContents,
  release: string,
  onProgress: (progress: BackupProgress) => void,
): AsyncGenerator<Buffer> {
  const head: BackupHead = { format: FORMAT, version: FORMAT_VERSION, release, ...facts };
  yield lineOf(head);
  let total = 0;
  for (const table of tables) {
    yield lineOf(table);
    let count = 0;
    for await (const piece of piecesOf(rows(table))) {
      count += countLines(piece);
      yield piece;
      onProgress({ table: table.name, rows: count, done: false });
    }
    yield END_OF_ROWS;
    onProgress({ table: table.name, rows: count, done: true });
    total += count;
  }
  const end: BackupEnd = { sequences, rows: total };
  yield lineOf(end);
}

function lineOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** Joins rows, which may be a few bytes each, to larger pieces. */
async function* piecesOf(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const row of rows) {
    held.push(row);
    size += row.length;
    if (size < PIECE_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    size = 0;
  }
  if (held.length > 0) yield Buffer.concat(held);
}

/** Returns the number of line ends, one for each row. */
function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, at + 1)) count += 1;
  return count;
}

/** Reads a backup from its uncompressed bytes, once and in order. */
export class BackupReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  #rows = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Reads the first line. Throws BackupFormatError. */
  async head(): Promise<BackupHead> {
    let line: object;
    try {
      line = await this.#line();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new BackupFormatError('This is no backup of Slipway.');
    }
    const head = line as Partial<BackupHead>;
    if (head.format !== FORMAT) throw new BackupFormatError('This is no backup of Slipway.');
    if (head.version !== FORMAT_VERSION)
      throw new BackupFormatError('The backup is of a newer version of Slipway. Use that version, or a later one.');
    return head as BackupHead;
  }

  /**
   * Calls `take` with each table and its rows, which it must read. Returns the positions of sequences. Throws
   * BackupFormatError if the file was cut off or is damaged.
   */
  async tables(
    take: (table: TableShape, rows: AsyncIterable<Buffer>) => Promise<void>,
    onProgress: (progress: BackupProgress) => void,
  ): Promise<SequencePosition[]> {
    for (;;) {
      const line = (await this.#line().catch(throwDamaged)) as TableShape | BackupEnd;
      if (!('name' in line)) return await this.#end(line);
      await take(line, this.#rowsOf(line.name, onProgress));
    }
  }

  /** Reads to the end of the stream, where its checksum is compared. */
  async #end({ sequences, rows }: BackupEnd): Promise<SequencePosition[]> {
    if ((await this.#source.next()).done !== true) throw new BackupFormatError('The backup has data after its end.');
    if (rows !== this.#rows) throw new BackupFormatError(`The backup has ${this.#rows} rows, but should have ${rows}.`);
    return sequences;
  }

  async *#rowsOf(table: string, onProgress: (progress: BackupProgress) => void): AsyncGenerator<Buffer> {
    let count = 0;
    const counted = (bytes: Buffer): Buffer => {
      count += countLines(bytes);
      onProgress({ table, rows: count, done: false });
      return bytes;
    };
    // Rows contain no newline, so `\.` alone on a line is the end.
    let isLineStart = true;
    for (;;) {
      const end = isLineStart && this.#held.subarray(0, 3).equals(END_OF_ROWS) ? 0 : afterLineEnd(this.#held);
      if (end !== -1) {
        if (end > 0) yield counted(this.#held.subarray(0, end));
        this.#held = this.#held.subarray(end + END_OF_ROWS.length);
        break;
      }
      // The end may be split between two pieces: whole lines are passed on, but never the last bytes.
      const ready = this.#held.length - END_OF_ROWS.length;
      if (ready > 0) {
        isLineStart = this.#held[ready - 1] === LINE_END;
        yield counted(this.#held.subarray(0, ready));
        this.#held = this.#held.subarray(ready);
      }
      await this.#more();
    }
    this.#rows += count;
    onProgress({ table, rows: count, done: true });
  }

  async #line(): Promise<object> {
    let from = 0;
    for (;;) {
      const end = this.#held.indexOf(LINE_END, from);
      if (end !== -1) {
        const text = this.#held.subarray(0, end).toString();
        this.#held = this.#held.subarray(end + 1);
        return JSON.parse(text) as object;
      }
      from = this.#held.length;
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const next = await this.#source.next();
    if (next.done === true) throw new BackupFormatError('The backup was cut off: its end is missing.');
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value]);
  }
}

/** Throws the error of a line that is no JSON. A damaged file may be unpacked up to its checksum, at its end. */
function throwDamaged(error: unknown): never {
  if (!(error instanceof SyntaxError)) throw error;
  throw new BackupFormatError('The backup is damaged: a line between its tables cannot be read.');
}

/** Returns where the end of rows begins, behind a line end. -1: nowhere. */
function afterLineEnd(bytes: Buffer): number {
  const at = bytes.indexOf('\n\\.\n');
  return at === -1 ? -1 : at + 1;
}
