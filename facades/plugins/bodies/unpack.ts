/** Decompresses request bodies: gzip only, piece by piece, up to the limit of the decompressed size. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CoreError } from '@slipway/proto/wire/reason';
import { HttpRejection } from '../errors/http-rejection.ts';

/** Bytes decompressed at a time: a bomb gains no more than this between two checks of the limit. */
const PIECE_BYTES = 64 * 1024;

/** How a body arrives. */
export interface UnpackedBody {
  /** The decompressed body. */
  body: Readable;
  /** Stops reading. The caller discards bytes that still arrive. */
  stop(): void;
}

/**
 * Returns the decompressed body, or the request itself if it is not compressed. `onFault` is called for invalid gzip.
 * Throws a rejection for any other encoding.
 */
export function unpack(request: IncomingMessage, onFault: (error: CoreError) => void): UnpackedBody {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return { body: request, stop: () => undefined };
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    const headers = { 'accept-encoding': 'gzip, identity' };
    throw new HttpRejection('Bodies may be packed with gzip or not at all.', {
      status: 415,
      code: 'unsupported_encoding',
      headers,
    });
  }
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  gunzip.on('error', () =>
    onFault(new CoreError('INVALID_REQUEST', 'The body is not valid gzip, as its Content-Encoding says.')),
  );
  request.pipe(gunzip);
  return {
    body: gunzip,
    stop: () => {
      request.unpipe(gunzip);
      gunzip.destroy();
    },
  };
}

/** Returns whether the request's body is compressed. */
export function isPacked(request: IncomingMessage): boolean {
  return request.headers['content-encoding'] !== undefined;
}
