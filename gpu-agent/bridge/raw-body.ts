/** Reads a body as it is, whatever its content type says: results arrive labelled as a form and are JSON (compat.md 2.6.1). */
import type { IncomingMessage } from 'node:http';
import { OUTPUT_BYTES_MAX } from '../../proto/wire/limits.ts';
import type { ResultBody } from './interpret-result.ts';

/** Room for the members beside `output`, for instance a long error. */
const BODY_BYTES_MAX = OUTPUT_BYTES_MAX + 1024 * 1024;

/** The body; one that is too large is read to its end without being kept, because the worker must get a proper answer. */
export function readBody(stream: IncomingMessage): Promise<ResultBody> {
  return new Promise((resolve, reject) => {
    let pieces: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= BODY_BYTES_MAX) pieces.push(piece);
      else pieces = [];
    });
    stream.once('end', () => {
      if (bytes > BODY_BYTES_MAX) resolve({ oversizeBytes: bytes });
      else resolve({ bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) });
    });
    stream.once('error', reject);
  });
}
