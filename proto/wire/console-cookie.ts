/**
 * The console's own cookie among a browser's. By path workers and pods share an origin with the console, and a host form may share a domain: what is theirs
 * must neither get it nor set another in its place. Pure.
 */

/** Its name. */
export const CONSOLE_COOKIE = 'slipway_console';
/** Browsers send a cookie without a name as its value alone, so that "=name=value" is set and comes back as "name=value". */
const IS_OURS = new RegExp(`^[\\s=]*${CONSOLE_COOKIE}\\s*(?:[=;]|$)`);

/** A Cookie header without it; empty: nothing else was in it. */
export function withoutConsoleCookie(cookie: string): string {
  const pairs = cookie.split(';').map((pair) => pair.trim());
  return pairs.some((pair) => IS_OURS.test(pair)) ? pairs.filter((pair) => !IS_OURS.test(pair)).join('; ') : cookie;
}

/** Whether a Set-Cookie header sets it. */
export function setsConsoleCookie(setCookie: string): boolean {
  return IS_OURS.test(setCookie);
}
