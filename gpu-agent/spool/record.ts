/** Format of one record of the spool on disk: length, checksum, kind, payload. Pure. */
import { crc32 } from 'node:zlib';
import type { Work } from '@slipway/kit/bytes/sliced-work';

/** Bytes before the payload: length of kind and payload (4), CRC-32 of them (4). */
const HEAD_BYTES = 8;
/** Offset of the payload within its record. */
export const PAYLOAD_OFFSET = HEAD_BYTES + 1;
/** Bytes of a payload that are summed before other work runs. A smaller record is written in one piece. */
const SUMMED_AT_ONCE_BYTES = 64 * 1024;
/** Longest plausible record in bytes; a longer one means a torn or foreign file. */
const RECORD_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Kinds of records. 1: an outcome with its chunks. 2: the keys of outcomes that core has acknowledged, one per line.
 */
export const RecordKind = { OUTCOME: 1, ACKNOWLEDGED: 2 } as const;

/** A record that was read. */
export interface SpoolRecord {
  kind: number;
  /** A view of the bytes that were read. */
  payload: Buffer;
  /** Offset of its payload in the file. */
  offset: number;
}

/**
 * Encodes a record, whose payload is given in pieces. A small record becomes one piece, a large one several, so that
 * results of many megabytes are not copied.
 */
export function* encodeRecord(kind: number, payload: readonly Uint8Array[]): Work<Uint8Array[]> {
  const bytes = payload.reduce((sum, piece) => sum + piece.length, 0);
  const head = Buffer.allocUnsafe(PAYLOAD_OFFSET);
  head.writeUInt32LE(bytes + 1, 0);
  head.writeUInt8(kind, HEAD_BYTES);
  let sum = crc32(head.subarray(HEAD_BYTES));
  for (const piece of payload) {
    for (let at = 0; at < piece.length; at += SUMMED_AT_ONCE_BYTES) {
      sum = crc32(piece.subarray(at, at + SUMMED_AT_ONCE_BYTES), sum);
      yield;
    }
  }
  head.writeUInt32LE(sum, 4);
  return bytes <= SUMMED_AT_ONCE_BYTES ? [Buffer.concat([head, ...payload])] : [head, ...payload];
}

/**
 * Returns all complete records from the start of a file. `torn`: number of bytes after them that are no record, the end
 * of an incomplete write.
 */
export function decodeRecords(file: Buffer): { records: SpoolRecord[]; torn: number } {
  const records: SpoolRecord[] = [];
  let at = 0;
  while (at + HEAD_BYTES < file.length) {
    const length = file.readUInt32LE(at);
    const end = at + HEAD_BYTES + length;
    if (length === 0 || length > RECORD_BYTES_MAX || end > file.length) break;
    const body = file.subarray(at + HEAD_BYTES, end);
    if (crc32(body) !== file.readUInt32LE(at + 4)) break;
    records.push({ kind: body[0]!, payload: body.subarray(1), offset: at + PAYLOAD_OFFSET });
    at = end;
  }
  return { records, torn: file.length - at };
}
