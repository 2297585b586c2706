/** Reads the edges' keys: the current one, and during a rotation a second one. */
import type { EnvReader } from './env.ts';

/**
 * Keys of the edges, never empty strings: the current one, and during a rotation a second one.
 * None: there are no edges with a key.
 */
export type EdgeKeys = readonly string[];

/** Returns the keys. None if the first is not set: another alone would be accepted and never used. */
export function readEdgeKeys(reader: EnvReader): EdgeKeys {
  const [key, other] = [reader.secret('SLIPWAY_EDGE_KEY', ''), reader.secret('SLIPWAY_OTHER_EDGE_KEY', '')];
  if (key === '' && other !== '')
    reader.fault('SLIPWAY_OTHER_EDGE_KEY is set without SLIPWAY_EDGE_KEY: set the key that is used, too');
  return key === '' ? [] : [key, other].filter((each) => each !== '');
}
