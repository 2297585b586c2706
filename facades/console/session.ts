/**
 * Sessions of the console: the key of whoever signed in, sealed in a cookie that no script can read. Signing out takes
 * the cookie from the browser.
 */
import type { IncomingMessage } from 'node:http';
import { CONSOLE_COOKIE } from '@slipway/kit/net/own-cookies';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CookieKind, KeyHeld } from '../plugins/sealed-cookie.ts';
import { SealedCookies } from '../plugins/sealed-cookie.ts';

/** How long a session lasts, in milliseconds. */
const SESSION_MS = 12 * 3_600_000;
const KIND: CookieKind = {
  name: CONSOLE_COOKIE,
  path: '/console',
  sameSite: 'Strict',
  lifetimeMs: SESSION_MS,
  identity: 'console session',
  purpose: 'slipway console sessions',
};

/** A session that holds. */
export type ConsoleSession = KeyHeld;

export class Sessions {
  readonly #cookies: SealedCookies<ConsoleSession>;

  /** `edgeKey`: what all facades of an installation share; empty: sessions are this process's alone. */
  constructor(edgeKey: string, clock: Clock, random: Random) {
    this.#cookies = new SealedCookies(KIND, edgeKey, clock, random);
  }

  /** A new session of a key, and the Set-Cookie that begins it. `secure`: the browser came by TLS. */
  begin(apiKey: string, secure: boolean): { session: ConsoleSession; cookie: string } {
    const { held: session, cookie } = this.#cookies.begin({ apiKey }, secure);
    return { session, cookie };
  }

  /** The Set-Cookie that ends a session in its browser. */
  end(secure: boolean): string {
    return this.#cookies.end(secure);
  }

  /** The session of a request. Undefined: none, or it has ended. */
  of(request: Pick<IncomingMessage, 'headers'>): ConsoleSession | undefined {
    return this.#cookies.of(request);
  }
}
