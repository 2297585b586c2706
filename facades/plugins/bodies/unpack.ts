/** Packed request bodies: gzip is taken, in pieces and as far as the limit of what it unpacks to. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CoreError } from '@slipway/proto/wire/reason';
import { HttpRejection } from '../errors/http-rejection.ts';

/** Bytes unpacked at a time: what a bomb can do between two looks at the limit. */
const PIECE_BYTES = 64 * 1024;

/** How a body arrives. */
export interface Unpacked {
  /** The body as it was before it was packed. */
  body: Readable;
  /** Nobody wants more of it; what still arrives is for the caller to throw away. */
  stop(): void;
}

/**
 * The request itself where it is not packed. `onFault` hears of bytes that are no gzip. Throws a refusal for any other
 * encoding.
 */
export function unpack(request: IncomingMessage, onFault: (error: CoreError) => void): Unpacked {
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

/** The request's body is packed. */
export function isPacked(request: IncomingMessage): boolean {
  return request.headers['content-encoding'] !== undefined;
}
