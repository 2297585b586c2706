/**
 * Sessions of the console: the user's key, sealed in a cookie that no script can read. Signing out removes the cookie
 * from the browser.
 */

import type { IncomingMessage } from 'node:http';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { CONSOLE_COOKIE } from '@slipway/kit/net/own-cookies';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CookieKind, SealedKey } from '../plugins/sealed-cookie.ts';
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

/** A valid session. */
export type ConsoleSession = SealedKey;

export class Sessions {
  readonly #cookies: SealedCookies<ConsoleSession>;

  /** `edgeKeys`: see SealedCookies. */
  constructor(edgeKeys: EdgeKeys, clock: Clock, random: Random) {
    this.#cookies = new SealedCookies(KIND, edgeKeys, clock, random);
  }

  /** Returns a new session of a key and its Set-Cookie header. `secure`: the browser uses TLS. */
  begin(apiKey: string, secure: boolean): { session: ConsoleSession; cookie: string } {
    const { held: session, cookie } = this.#cookies.begin({ apiKey }, secure);
    return { session, cookie };
  }

  /** Returns the Set-Cookie header that ends a session. */
  end(secure: boolean): string {
    return this.#cookies.end(secure);
  }

  /** Returns the session of a request. `undefined` if there is none or it has ended. */
  of(request: Pick<IncomingMessage, 'headers'>): ConsoleSession | undefined {
    return this.#cookies.of(request);
  }
}
