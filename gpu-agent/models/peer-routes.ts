/** Addresses at which a machine gives its models to others. Pure. */
import type { ModelKey } from './model-name.ts';
import { keyOfName, treeName } from './model-name.ts';
import { isDigest } from './model-record.ts';

const PREFIX = '/models/v1';
const PATH = /^\/models\/v1\/([^/?]+)\/(?:record|blobs\/([0-9a-f]{40,64}))$/;

/** A request for a model's record, or for one content. */
interface PeerAsk {
  key: ModelKey;
  /** `undefined`: the record. */
  digest: string | undefined;
}

/** Returns the path of a model's record. */
export function recordPath(key: ModelKey): string {
  return `${PREFIX}/${treeName(key)}/record`;
}

/** Returns the path of a content of a model. */
export function blobPath(key: ModelKey, digest: string): string {
  return `${PREFIX}/${treeName(key)}/blobs/${digest}`;
}

/** Reads such a path. `undefined` if it is another. */
export function parsePeerPath(path: string): PeerAsk | undefined {
  const [, name = '', digest] = PATH.exec(path) ?? [];
  const key = keyOfName(name);
  return key && (digest === undefined || isDigest(digest)) ? { key, digest } : undefined;
}
