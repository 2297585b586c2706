/**
 * Whether a request comes from the console's own page. A session cookie goes along whatever page asks, and pages of the
 * same site are not all ours (a worker's or a pod's page on a host beside this one is of the same site): so SameSite
 * alone is not enough.
 */
import type { IncomingMessage } from 'node:http';

/**
 * The page sends the first with everything it asks by script; no form and no page of another origin can without asking
 * first, which is never allowed. Edges keep names like the second to themselves (edge/envoy-config/http.ts); pages of
 * earlier releases that are still open send it.
 */
const PAGE_HEADERS = ['x-console-page', 'x-slipway-console'];

/** Returns whether a request may use the session. Reads may come without the header, but never from another origin. */
export function isOwnPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (method === 'GET') return site === 'same-origin' || headers.origin === undefined || isOwnOrigin(headers);
  if (!PAGE_HEADERS.some((name) => headers[name] !== undefined)) return false;
  // A browser that says the one can be trusted with the other: proxies may change Host, no page can change this.
  return site === 'same-origin' || isOwnOrigin(headers);
}

function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
