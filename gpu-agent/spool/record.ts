/** How one record of the spool looks on disk: length, checksum, kind, payload. Pure. */
import { crc32 } from 'node:zlib';

/** Bytes before the payload: length of kind and payload (4), CRC-32 of them (4). */
const HEAD_BYTES = 8;
/** Longest record that is believed; a longer one is a torn or foreign file. */
const RECORD_BYTES_MAX = 128 * 1024 * 1024;

/** 1: an outcome with its chunks. 2: the key of an outcome that core has acknowledged. */
export const RecordKind = { OUTCOME: 1, ACKNOWLEDGED: 2 } as const;

/** A record that was read. */
export interface SpoolRecord {
  kind: number;
  /** A view into the text that was read. */
  payload: Buffer;
  /** Where its payload starts in the file. */
  offset: number;
}

/** The bytes of a record. */
export function encodeRecord(kind: number, payload: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(HEAD_BYTES + 1 + payload.length);
  record.writeUInt32LE(payload.length + 1, 0);
  record.writeUInt8(kind, HEAD_BYTES);
  record.set(payload, HEAD_BYTES + 1);
  record.writeUInt32LE(crc32(record.subarray(HEAD_BYTES)), 4);
  return record;
}

/** Where the payload starts within its record. */
export const PAYLOAD_OFFSET = HEAD_BYTES + 1;

/** All whole records from the start of a file. `torn` tells how many bytes after them make no sense: the end of a write cut short. */
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
