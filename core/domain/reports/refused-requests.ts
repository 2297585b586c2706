/** What rate limits refused, in words. Pure. */
import type { ScaleLimit } from '../scaling/scale-target.ts';

/** A limit that refuses requests; the last two are of the whole account. */
export type RequestLimit = 'RATE' | 'AT_ONCE' | 'ACCOUNT_SHARE' | 'QUOTA';

/** Requests of one operation that one limit refused. */
export interface RefusedRequests {
  limit: RequestLimit;
  /** As `purge-queue`; `lb` for what goes to workers of load-balancing endpoints. */
  operation: string;
  /** What the limit lets through; 0 of ACCOUNT_SHARE. */
  most: number;
  count: number;
}

/** It refuses requests to all endpoints of the account. */
export function isOfAccount(limit: RequestLimit): boolean {
  return limit === 'ACCOUNT_SHARE' || limit === 'QUOTA';
}

/** For whoever asks why. `windowSeconds`: in which requests count for a rate. */
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
