/** The edges' key: its holder is a part of the installation in front of core. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';

/** Returns true if a call carries the key. Always false if no key is configured. */
export function hasEdgeKey(metadata: Metadata, edgeKey: string): boolean {
  const [given] = metadata.get('authorization');
  return typeof given === 'string' && given.startsWith(SCHEME) && isEdgeKey(given.slice(SCHEME.length), edgeKey);
}

/**
 * Returns true if `given` is the key. Always false if no key is configured. Compares in constant time, so the duration
 * does not reveal how much of the key is right.
 */
export function isEdgeKey(given: string, edgeKey: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return edgeKey !== '' && timingSafeEqual(hash(given), hash(edgeKey));
}

const SCHEME = 'Bearer ';
