/**
 * EdgeService.TellRefusals: a caller that may use an endpoint's jobs may report which requests were rejected there.
 * Core chooses the words.
 */

import type { EndpointRefusals, RefusedRequests as RefusedMessage } from '@slipway/proto/gen/slipway/v1/edge_service';
import { RequestLimit, RequestOperation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { REJECTIONS_PER_CALL_MAX } from '@slipway/proto/wire/limits';
import type { Access } from '../../access/access.ts';
import type { RequestLimit as LimitName, RefusedRequests } from '../../domain/reports/refused-requests.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RejectionTracker } from '../../edge/rejection-tracker.ts';

/** Largest accepted count. */
const COUNT_MAX = 1_000_000_000;
/** Most entries: more than there are limits and operations. */
const REFUSED_MAX = 100;

const LIMITS: Partial<Record<RequestLimit, LimitName>> = {
  [RequestLimit.RATE]: 'RATE',
  [RequestLimit.AT_ONCE]: 'AT_ONCE',
  [RequestLimit.ACCOUNT_SHARE]: 'ACCOUNT_SHARE',
  [RequestLimit.QUOTA]: 'QUOTA',
};

/**
 * Records rejections. Throws INVALID_REQUEST if there are too many entries. If no entry's key is permitted, throws the
 * error of the last one.
 */
export async function recordRejections(
  access: Access,
  tracker: RejectionTracker,
  endpoints: readonly EndpointRefusals[],
): Promise<void> {
  if (endpoints.length > REJECTIONS_PER_CALL_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `endpoints has ${endpoints.length} entries, but must have at most ${REJECTIONS_PER_CALL_MAX}`,
    );
  }
  const results = await Promise.allSettled(
    endpoints.map(async ({ endpointId, apiKey, refused }) => {
      const { accountId } = await access.check(apiKey, { api: 'JOBS', endpointId });
      for (const each of refused.slice(0, REFUSED_MAX).flatMap(refusedFromMessage))
        tracker.add(accountId, endpointId, each);
    }),
  );
  const last = results.at(-1);
  if (last?.status === 'rejected' && results.every(({ status }) => status === 'rejected')) throw last.reason;
}

/** Converts an entry. Empty if it is unknown or impossible. */
function refusedFromMessage({ limit, operation, most, count }: RefusedMessage): RefusedRequests[] {
  const [name, asked] = [LIMITS[limit], Object.entries(RequestOperation).find(([, value]) => value === operation)?.[0]];
  const possible = [most, count].every((number) => number >= 0 && number <= COUNT_MAX) && count > 0;
  if (!name || asked === undefined || operation <= 0 || !possible) return [];
  return [{ limit: name, operation: asked.toLowerCase().replaceAll('_', '-'), most, count }];
}
