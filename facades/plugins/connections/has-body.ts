/** Tells requests with a body from requests without one, before any byte of it is read. */
import type { IncomingMessage } from 'node:http';

/** Returns whether a request has a body. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
