/** The Idempotency-Key header: requests with the same key and body do their work once. */
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';

/** Control characters. */
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Returns the key that a header gives. Empty: there is none. Throws INVALID_REQUEST if it cannot be a key. */
export function readIdempotencyKey(header: string | string[] | undefined): string {
  if (header === undefined) return '';
  const fits = typeof header === 'string' && header.length > 0 && header.length <= IDEMPOTENCY_KEY_LENGTH_MAX;
  if (fits && !CONTROL.test(header)) return header;
  throw new CoreError(
    'INVALID_REQUEST',
    `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable characters.`,
  );
}

/** Core call of a creation. */
export interface CreationCall {
  /** The caller's Idempotency-Key. Empty: none. */
  requestId: string;
  /** A creation with a key may be repeated. */
  options: { apiKey: string; repeatable: boolean };
}

/** Returns the request id of a creation and the options of its core call. */
export function creationCall({ headers, caller }: Pick<FastifyRequest, 'headers' | 'caller'>): CreationCall {
  const requestId = readIdempotencyKey(headers['idempotency-key']);
  return { requestId, options: { apiKey: caller.apiKey, repeatable: requestId !== '' } };
}
