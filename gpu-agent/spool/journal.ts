/**
 * Append-only files of records, called segments. All records that arrive during an fsync share the next fsync. When a
 * segment is long enough, the next one begins. The owner deletes a segment when it needs none of its records.
 */
import { join } from 'node:path';
import { Batcher } from '@slipway/kit/bytes/batcher';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Disk, DiskFile } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { SpoolRecord } from './record.ts';
import { decodeRecords, encodeRecord, PAYLOAD_OFFSET, RecordKind } from './record.ts';

/** Position of a record's payload. */
export interface RecordPosition {
  segment: number;
  offset: number;
  bytes: number;
}

interface Write {
  /** Bytes of the record, in pieces. */
  record: readonly Uint8Array[];
  bytes: number;
  /** Must be on disk before its promise settles. */
  durable: boolean;
}

const BATCH_RECORDS_MAX = 2_000;
const BATCH_BYTES_MAX = 32 * 1024 * 1024;
const WAITING_MAX = 100_000;
const JOINED_BYTES_MAX = 1024 * 1024;

export class Journal {
  readonly #folder: string;
  readonly #segmentBytesMax: number;
  readonly #logger: Logger;
  readonly #disk: Disk;
  readonly #batcher: Batcher<Write, RecordPosition>;
  /** Sums large records in slices. All records go through it, in order of arrival. */
  readonly #work: SlicedWork;
  #handle: DiskFile | undefined;
  #segment = 0;
  #bytes = 0;

  constructor(options: { folder: string; segmentBytesMax: number; logger: Logger; clock: Clock; disk: Disk }) {
    this.#folder = options.folder;
    this.#segmentBytesMax = options.segmentBytesMax;
    this.#logger = options.logger;
    this.#disk = options.disk;
    this.#work = new SlicedWork({ name: 'spool', bytesMax: Infinity, ownerBytesMax: Infinity, clock: options.clock });
    this.#batcher = new Batcher({
      name: 'spool',
      clock: options.clock,
      flush: (writes) => this.#flush(writes),
      itemsMax: BATCH_RECORDS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: (write) => write.bytes,
      waitingMax: WAITING_MAX,
    });
  }

  /** The segment that is written to. */
  get activeSegment(): number {
    return this.#segment;
  }

  /**
   * Reads the records of earlier runs, oldest first, and begins a new segment. Returns the old segments. Drops a torn
   * record at the end: no durable append of it has resolved.
   */
  async open(onRecord: (record: SpoolRecord, place: RecordPosition) => void): Promise<number[]> {
    await this.#disk.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const segments = (await this.#disk.readdir(this.#folder))
      .map(segmentOf)
      .filter((id) => id !== undefined)
      .sort((a, b) => a - b);
    for (const segment of segments) {
      const { records, torn } = decodeRecords(await this.#readSegment(segment));
      for (const record of records) onRecord(record, { segment, offset: record.offset, bytes: record.payload.length });
      if (torn > 0) this.#logger.warn({ segment, torn }, 'end of a spool segment was torn');
    }
    await this.#begin((segments.at(-1) ?? 0) + 1);
    return segments;
  }

  /** Appends a record, whose payload may come in pieces. A durable record is on disk when the promise resolves. */
  async append(kind: number, payload: readonly Uint8Array[], durable: boolean): Promise<RecordPosition> {
    const bytes = PAYLOAD_OFFSET + bytesOf(payload);
    const record = await this.#work.run('spool', bytes, encodeRecord(kind, payload));
    return this.#batcher.add({ record, bytes, durable });
  }

  /** Reads the payload at a position. */
  async read(place: RecordPosition): Promise<Buffer> {
    const file = await this.#disk.open(this.#path(place.segment), 'r');
    try {
      const buffer = Buffer.allocUnsafe(place.bytes);
      const { bytesRead } = await file.read(buffer, 0, place.bytes, place.offset);
      if (bytesRead !== place.bytes) throw new Error('a spool record is shorter than it was');
      return buffer;
    } finally {
      await file.close();
    }
  }

  /** Deletes a segment that is not written to. */
  async drop(segment: number): Promise<void> {
    await this.#disk.rm(this.#path(segment), { force: true });
  }

  /** Waits for appends in progress, then closes the file. */
  async close(): Promise<void> {
    try {
      // Flushes run one after the other, so all earlier records are written before this one.
      if (this.#handle) await this.append(RecordKind.ACKNOWLEDGED, [], false);
    } finally {
      // Also if the disk is full: no other code closes it.
      const handle = this.#handle;
      this.#handle = undefined;
      await handle?.close();
    }
  }

  /** Reads a segment. Adds the path to an error, because the system does not always name the file. */
  async #readSegment(segment: number): Promise<Buffer> {
    const path = this.#path(segment);
    return this.#disk.readFile(path).catch((error: NodeJS.ErrnoException) => {
      throw Object.assign(error, { path });
    });
  }

  async #flush(writes: Write[]): Promise<RecordPosition[]> {
    if (this.#bytes >= this.#segmentBytesMax) await this.#begin(this.#segment + 1);
    if (!this.#handle) throw new Error('the spool is closed');
    const start = this.#bytes;
    let end = start;
    try {
      for (const piece of joined(writes)) {
        await writeAll(this.#handle, piece, end);
        end += piece.length;
      }
      if (writes.some((write) => write.durable)) await this.#handle.datasync();
    } catch (error) {
      // Where this segment ends is unknown now, so the next write begins a new segment. If none can be created, it
      // overwrites the failed write. A segment without other records is truncated instead: otherwise each failed write
      // to a full disk would add a file.
      await this.#begin(start === 0 ? this.#segment : this.#segment + 1).catch(() => {});
      throw error;
    }
    this.#bytes = end;
    let at = start;
    return writes.map(({ bytes }) => {
      const place = { segment: this.#segment, offset: at + PAYLOAD_OFFSET, bytes: bytes - PAYLOAD_OFFSET };
      at += bytes;
      return place;
    });
  }

  async #begin(segment: number): Promise<void> {
    const handle = await this.#disk.open(this.#path(segment), 'w', 0o600);
    try {
      // Before the first record: a crash of the machine could lose the name of the file, and its records with it.
      await syncFolder(this.#disk, this.#folder);
    } catch (error) {
      await handle.close();
      throw error;
    }
    await this.#handle?.close();
    this.#handle = handle;
    this.#segment = segment;
    this.#bytes = 0;
  }

  #path(segment: number): string {
    return join(this.#folder, `${String(segment).padStart(10, '0')}.spool`);
  }
}

function segmentOf(name: string): number | undefined {
  const match = /^(\d{10})\.spool$/.exec(name);
  return match ? Number(match[1]) : undefined;
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Joins consecutive small pieces up to JOINED_BYTES_MAX bytes: a write costs more than copying them. */
function* joined(writes: readonly Write[]): Generator<Uint8Array> {
  let row: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of writes.flatMap(({ record }) => record)) {
    if (row.length > 0 && bytes + piece.length > JOINED_BYTES_MAX) {
      yield row.length === 1 ? row[0]! : Buffer.concat(row);
      row = [];
      bytes = 0;
    }
    row.push(piece);
    bytes += piece.length;
  }
  if (row.length > 0) yield row.length === 1 ? row[0]! : Buffer.concat(row);
}

async function writeAll(handle: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += (await handle.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
}

// A new file survives a crash of the machine only if its folder was synced as well.
async function syncFolder(disk: Disk, folder: string): Promise<void> {
  const handle = await disk.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
