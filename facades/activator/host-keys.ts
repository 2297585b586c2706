/**
 * Keys of browsers in the host form of load-balancing endpoints. A browser sends a key along with the first page only, in its address; what that page loads
 * comes without. So a page that is opened with `?api_key=` becomes a cookie, sealed and for this endpoint's host alone, and the same address without the key.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import { KEY_COOKIE } from '../../proto/wire/own-cookies.ts';
import { SealedCookies } from '../plugins/sealed-cookie.ts';
import type { CookieKind, KeyHeld } from '../plugins/sealed-cookie.ts';
import type { LbTarget } from './lb-target.ts';

/** Lax: the page may be opened by a link elsewhere, and nothing else may be asked from there. */
const KIND: CookieKind = {
  name: KEY_COOKIE, path: '/', sameSite: 'Lax', lifetimeMs: 12 * 3_600_000, identity: 'endpoint key', purpose: 'slipway endpoint keys',
};

/** For one endpoint: on the host of another it opens nothing. */
type HostKey = KeyHeld & { endpointId: string };

export class HostKeys {
  readonly #cookies: SealedCookies<HostKey>;

  /** `edgeKey`: what all facades of an installation share; empty: cookies are this process's alone. */
  constructor(edgeKey: string, clock: Clock, random: Random) {
    this.#cookies = new SealedCookies(KIND, edgeKey, clock, random);
  }

  /** The key that a request's cookie holds. Undefined: it has none for this endpoint, or a page that is not the endpoint's asks. */
  keyOf(request: IncomingMessage, { prefix, endpointId }: LbTarget): string | undefined {
    if (prefix !== '' || request.headers.cookie === undefined) return undefined;
    const held = this.#cookies.of(request);
    return held?.endpointId === endpointId && isOwnPage(request) ? held.apiKey : undefined;
  }

  /** The Set-Cookie and the address that a page is sent on with which was opened with a key that does. Undefined: it is no such page. */
  signIn(request: IncomingMessage, { prefix, endpointId, path, queryKey: apiKey }: LbTarget): { cookie: string; location: string } | undefined {
    if (prefix !== '' || apiKey === undefined || !isOpened(request)) return undefined;
    const { cookie } = this.#cookies.begin({ apiKey, endpointId }, request.headers['x-forwarded-proto'] === 'https');
    // With two slashes it would begin with another host.
    return { cookie, location: path.replace(/^[/\\]{2,}/, '/') };
  }
}

/** A person opens a page. Browsers say so themselves where the connection is trusted; elsewhere by what they take. */
function isOpened({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade !== undefined || headers.authorization !== undefined) return false;
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return /\btext\/html\b/.test(headers.accept ?? '');
}

/** Pages of other endpoints are of the same site, where a cookie goes along whoever asks: they may open a page here, and ask nothing else. */
function isOwnPage({ method, headers }: IncomingMessage): boolean {
  const { origin, host, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isRead = (method === 'GET' || method === 'HEAD') && headers.upgrade === undefined;
  if (site === 'same-origin' || (site === 'none' && isRead)) return true;
  if (site !== undefined) return isRead && mode === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (origin === undefined) return isRead;
  return URL.canParse(origin) && host !== undefined && new URL(origin).host === new URL(`http://${host}`).host;
}
