/** Describes requests that rate limits rejected. Pure. */
import type { ScaleLimit } from '../scaling/scale-target.ts';

/** A limit that rejects requests. The last two apply to the whole account. */
export type RequestLimit = 'RATE' | 'AT_ONCE' | 'ACCOUNT_SHARE' | 'QUOTA';

/** Requests of one operation that one limit rejected. */
export interface RefusedRequests {
  limit: RequestLimit;
  /** For example `purge-queue`; `lb` for requests to workers of load-balancing endpoints. */
  operation: string;
  /** Requests that the limit allows. 0 for ACCOUNT_SHARE. */
  most: number;
  count: number;
}

/** Returns true if the limit applies to all endpoints of the account. */
export function isOfAccount(limit: RequestLimit): boolean {
  return limit === 'ACCOUNT_SHARE' || limit === 'QUOTA';
}

/** Returns the limit as an explanation. `windowSeconds`: window in which a rate limit counts requests. */
export function refusedLimit({ limit, operation, most, count }: RefusedRequests, windowSeconds: number): ScaleLimit {
  const what = operation === 'lb' ? 'requests to the endpoint' : `requests to ${operation}`;
  const refused = `${count} ${count === 1 ? 'was' : 'were'} refused (429) within the last minute`;
  const span = `in ${windowSeconds} s`;
  switch (limit) {
    case 'RATE':
      return { limit: 'REQUEST_RATE', cut: 0, text: `more than ${most} ${what} ${span}: ${refused}` };
    case 'AT_ONCE':
      return { limit: 'REQUESTS_AT_ONCE', cut: 0, text: `more than ${most} ${what} at a time: ${refused}` };
    case 'ACCOUNT_SHARE':
      return {
        limit: 'REQUESTS_AT_ONCE',
        cut: 0,
        text: `more ${what} at a time than the account's share of all that a facade has under way: ${refused}`,
      };
    case 'QUOTA':
      return {
        limit: 'REQUEST_QUOTA',
        cut: 0,
        text: `more than the account's quota of ${most} requests ${span}; of ${what} ${refused}`,
      };
  }
}
