/** The edges' key: who has it is a part of the installation that stands before core. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';

/**
 * Whether a call carries the key. False for all when there is none. Takes a time that says nothing of how much of it is
 * right.
 */
export function hasEdgeKey(metadata: Metadata, edgeKey: string): boolean {
  const [given] = metadata.get('authorization');
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return edgeKey !== '' && typeof given === 'string' && timingSafeEqual(hash(given), hash(`Bearer ${edgeKey}`));
}
