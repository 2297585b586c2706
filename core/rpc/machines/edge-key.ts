/** The edges' key: its holder is a part of the installation in front of core. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';

/**
 * Returns true if a call carries the key. Always false if no key is configured. Compares in constant time, so the
 * duration does not reveal how much of the key is right.
 */
export function hasEdgeKey(metadata: Metadata, edgeKey: string): boolean {
  const [given] = metadata.get('authorization');
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return edgeKey !== '' && typeof given === 'string' && timingSafeEqual(hash(given), hash(`Bearer ${edgeKey}`));
}
