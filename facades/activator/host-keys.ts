/**
 * Keeps API keys of browsers in cookies, for the host form of load-balancing endpoints. A browser sends the key in the
 * address of the first page only. So a page that is opened with `?api_key=` gets a sealed cookie for this endpoint's
 * host, and a redirect to the same address without the key.
 */

import type { IncomingMessage } from 'node:http';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { KEY_COOKIE } from '@slipway/kit/net/own-cookies';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CookieKind, SealedKey } from '../plugins/sealed-cookie.ts';
import { SealedCookies } from '../plugins/sealed-cookie.ts';
import type { LbTarget } from './lb-target.ts';

/** Lax: another site may link to the page, but its other requests carry no cookie. */
const KIND: CookieKind = {
  name: KEY_COOKIE,
  path: '/',
  sameSite: 'Lax',
  lifetimeMs: 12 * 3_600_000,
  identity: 'endpoint key',
  purpose: 'slipway endpoint keys',
};

/** A key that is valid on the host of one endpoint only. */
type HostKey = SealedKey & { endpointId: string };

export class HostKeys {
  readonly #cookies: SealedCookies<HostKey>;

  /** `edgeKeys`: see SealedCookies. */
  constructor(edgeKeys: EdgeKeys, clock: Clock, random: Random) {
    this.#cookies = new SealedCookies(KIND, edgeKeys, clock, random);
  }

  /**
   * Returns the key in a request's cookie. `undefined` if there is none for this endpoint, or if a page of another
   * origin sent the request.
   */
  keyOf(request: IncomingMessage, { prefix, endpointId }: LbTarget): string | undefined {
    if (prefix !== '' || request.headers.cookie === undefined) return undefined;
    const held = this.#cookies.of(request);
    return held?.endpointId === endpointId && isOwnPage(request) ? held.apiKey : undefined;
  }

  /**
   * Returns the cookie and the redirect address for a page that was opened with a valid key. `undefined` if the request
   * is no such page.
   */
  signIn(
    request: IncomingMessage,
    { prefix, endpointId, path, queryKey: apiKey }: LbTarget,
  ): { cookie: string; location: string } | undefined {
    if (prefix !== '' || apiKey === undefined || !isOpened(request)) return undefined;
    const { cookie } = this.#cookies.begin({ apiKey, endpointId }, request.headers['x-forwarded-proto'] === 'https');
    // A path that starts with two slashes would name another host.
    return { cookie, location: path.replace(/^[/\\]{2,}/, '/') };
  }
}

/** Returns whether a person opens a page: by Sec-Fetch headers, or by Accept where the browser sends none. */
function isOpened({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade !== undefined || headers.authorization !== undefined) return false;
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return /\btext\/html\b/.test(headers.accept ?? '');
}

/**
 * Returns whether a request is of a page of this host. Pages of other endpoints are on the same site, so their requests
 * carry the cookie. They may only navigate to a page.
 */
function isOwnPage({ method, headers }: IncomingMessage): boolean {
  const { origin, host, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isRead = (method === 'GET' || method === 'HEAD') && headers.upgrade === undefined;
  if (site === 'same-origin' || (site === 'none' && isRead)) return true;
  if (site !== undefined) return isRead && mode === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (origin === undefined) return isRead;
  return URL.canParse(origin) && host !== undefined && new URL(origin).host === new URL(`http://${host}`).host;
}
