/** Creations that are safe to repeat. */
import type { FastifyRequest } from 'fastify';
import { misfit } from './rejections.ts';

const HEADER = 'idempotency-key';
const KEY_LENGTH_MAX = 191;

/** Returns the Idempotency-Key of a request; empty: it has none. 422: it is too long. */
export function requestIdOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const key = headers[HEADER];
  if (key === undefined) return '';
  if (typeof key !== 'string' || key.length > KEY_LENGTH_MAX)
    throw misfit([`Idempotency-Key: must have at most ${KEY_LENGTH_MAX} characters`]);
  return key;
}
