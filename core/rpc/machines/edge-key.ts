/** The edges' key: its holder is a part of the installation in front of core. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';

/** Returns true if a call carries one of the keys. */
export function hasEdgeKey(metadata: Metadata, edgeKeys: EdgeKeys): boolean {
  const [given] = metadata.get('authorization');
  return typeof given === 'string' && given.startsWith(SCHEME) && isEdgeKey(given.slice(SCHEME.length), edgeKeys);
}

/**
 * Returns true if `given` is one of the keys. Compares in constant time, so the duration does not reveal how much of a
 * key is right.
 */
export function isEdgeKey(given: string, edgeKeys: EdgeKeys): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return edgeKeys.some((key) => timingSafeEqual(hash(given), hash(key)));
}

const SCHEME = 'Bearer ';
