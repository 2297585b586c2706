/** Reads what query strings say of metadata: whether an answer has it, and pairs to find jobs by. */
import type { JobMetadata } from '@slipway/proto/gen/slipway/v1/job';
import { CoreError } from '@slipway/proto/wire/reason';

/** Returns whether `metadata` of /status is `true`. Throws INVALID_REQUEST for another value than true or false. */
export function wantsMetadata(query: unknown): boolean {
  const { metadata = 'false' } = query as Record<string, unknown>;
  if (metadata !== 'true' && metadata !== 'false')
    throw new CoreError('INVALID_REQUEST', '"metadata" must be true or false.');
  return metadata === 'true';
}

/**
 * Returns the pairs of `metadata=key:value`, which may be given several times with different keys. `undefined` if there
 * is none. Throws INVALID_REQUEST for a pair without a colon, and for pairs that cannot all be searched for: a filter
 * that got lost would find jobs that were not meant.
 */
export function metadataFilter(query: unknown): JobMetadata | undefined {
  const { metadata } = query as Record<string, unknown>;
  if (metadata === undefined || metadata === '') return undefined;
  const texts = Array.isArray(metadata) ? (metadata as unknown[]) : [metadata];
  const pairs = texts.map(pairOf);
  const keys = new Set(pairs.map(([key]) => key));
  if (keys.size < pairs.length)
    throw new CoreError('INVALID_REQUEST', '"metadata" has the same key twice: a job has one value for each key.');
  if (keys.has('__proto__'))
    throw new CoreError('INVALID_REQUEST', '"metadata" has the key "__proto__", as no job has.');
  return { pairs: Object.fromEntries(pairs) };
}

function pairOf(text: unknown): [string, string] {
  const colon = typeof text === 'string' ? text.indexOf(':') : -1;
  if (colon < 1)
    throw new CoreError('INVALID_REQUEST', '"metadata" must be key:value, and may be given several times.');
  return [(text as string).slice(0, colon), (text as string).slice(colon + 1)];
}
