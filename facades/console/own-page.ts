/**
 * Checks that a request comes from the console's own page. Browsers send a session cookie whichever page makes the
 * request, and pages of the same site are not all ours: the page of a worker or pod on a neighbouring host is of the
 * same site. So SameSite alone is not enough.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Headers of which the page's scripts send the first with every request. Forms cannot send it, and pages of another
 * origin only after a preflight, which is never allowed. Edges reserve names like the second
 * (edge/envoy-config/http.ts); pages of earlier releases that are still open send it.
 */
const PAGE_HEADERS = ['x-console-page', 'x-slipway-console'];

/** Returns whether a request may use the session. A GET needs no such header, but must not come from another origin. */
export function isOwnPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (method === 'GET') return site === 'same-origin' || headers.origin === undefined || isOwnOrigin(headers);
  if (!PAGE_HEADERS.some((name) => headers[name] !== undefined)) return false;
  // A browser that sends Sec-Fetch-Site can be trusted about it. Proxies may change Host, but no page can change this
  // header.
  return site === 'same-origin' || isOwnOrigin(headers);
}

function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
