/**
 * Recognizes our own cookies: the console's session, and the key of a user who has signed in to the host of a
 * load-balancing endpoint. By path, workers and pods share an origin with the console, and a host form may share a
 * domain. Their programs must neither get our cookies nor set others in their place. Pure.
 */

/** Cookie of the console, and of an endpoint's host. If the browser uses TLS, the name begins with HOST_PREFIX. */
export const CONSOLE_COOKIE = 'slipway_console';
export const KEY_COOKIE = 'slipway_key';
/**
 * With this prefix a browser accepts a cookie only over TLS, for one host and all of its paths. So no other host of a
 * domain can set one in its place (RFC 6265bis).
 */
export const HOST_PREFIX = '__Host-';
/** Names of all our cookies. */
export const OWN_COOKIES: readonly string[] = [CONSOLE_COOKIE, KEY_COOKIE].flatMap((name) => [
  name,
  HOST_PREFIX + name,
]);

/**
 * Matches our cookies. Browsers send a cookie without a name as its value alone, so "=name=value" is set and comes back
 * as "name=value".
 */
const IS_OURS = new RegExp(`^[\\s=]*(?:${HOST_PREFIX})?(?:${CONSOLE_COOKIE}|${KEY_COOKIE})\\s*(?:[=;]|$)`);

/** Returns a Cookie header without our own cookies. Empty if nothing else is in it. */
export function withoutOwnCookies(cookie: string): string {
  const pairs = cookie.split(';').map((pair) => pair.trim());
  return pairs.some((pair) => IS_OURS.test(pair)) ? pairs.filter((pair) => !IS_OURS.test(pair)).join('; ') : cookie;
}

/** Returns whether a Set-Cookie header sets one of our own cookies. */
export function setsOwnCookie(setCookie: string): boolean {
  return IS_OURS.test(setCookie);
}

/** Returns the values of a cookie by its name with TLS (`secure`) and without. Several if others set one. */
export function cookieValues(cookie: string | undefined, name: string): { secure: boolean; value: string }[] {
  return (cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(0, at)).trim();
    if (key !== name && key !== HOST_PREFIX + name) return [];
    const value = pair.slice(at + 1).trim();
    return /^[A-Za-z0-9_-]{1,4096}$/.test(value) ? [{ secure: key !== name, value }] : [];
  });
}
