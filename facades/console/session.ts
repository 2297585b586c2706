/**
 * Sessions of the console: the key of whoever signed in, sealed in a cookie that no script can read. Nothing of a session is kept here, so every facade
 * replica that has the edges' key opens what another one sealed; without that key a session ends with its process. Signing out takes the cookie from the
 * browser; what ends a session everywhere is revoking its key, which every call is checked against.
 */
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import { Sealer, SealError } from '../../core/runtime/seal.ts';
import { CONSOLE_COOKIE } from '../../proto/wire/console-cookie.ts';

/** What a browser sends this cookie for. */
const COOKIE_PATH = '/console';
/** How long a session lasts, in milliseconds. */
export const SESSION_MS = 12 * 3_600_000;
/** Binds the sealed text to its use: no other text of the same key opens as a session. */
const IDENTITY = 'console session';
const COOKIE_FORM = new RegExp(`(?:^|;\\s*)${CONSOLE_COOKIE}=([A-Za-z0-9_-]{1,4096})(?:;|$)`);

/** A session that holds. */
export interface ConsoleSession {
  apiKey: string;
  /** Milliseconds since 1970. */
  untilMs: number;
}

export class Sessions {
  readonly #sealer: Sealer;
  readonly #clock: Clock;

  /** `edgeKey`: what all facades of an installation share; empty: sessions are this process's alone. */
  constructor(edgeKey: string, clock: Clock, random: Random) {
    const key = edgeKey === '' ? random.bytes(32) : createHmac('sha256', edgeKey).update('slipway console sessions').digest();
    this.#sealer = new Sealer(key.toString('hex'));
    this.#clock = clock;
  }

  /** A new session of a key, and the Set-Cookie that begins it. `secure`: the browser came by TLS. */
  begin(apiKey: string, secure: boolean): { session: ConsoleSession; cookie: string } {
    const session = { apiKey, untilMs: this.#clock.nowMs() + SESSION_MS };
    const sealed = this.#sealer.seal(Buffer.from(JSON.stringify(session)), IDENTITY).toString('base64url');
    return { session, cookie: cookieText(sealed, SESSION_MS / 1_000, secure) };
  }

  /** The Set-Cookie that ends a session in its browser. */
  end(secure: boolean): string {
    return cookieText('', 0, secure);
  }

  /** The session of a request. Undefined: none, or it has ended. */
  of({ headers }: Pick<IncomingMessage, 'headers'>): ConsoleSession | undefined {
    const [, sealed] = COOKIE_FORM.exec(headers.cookie ?? '') ?? [];
    if (sealed === undefined) return undefined;
    try {
      const session = JSON.parse(this.#sealer.open(Buffer.from(sealed, 'base64url'), IDENTITY).toString('utf8')) as ConsoleSession;
      return session.untilMs > this.#clock.nowMs() ? session : undefined;
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }
}

function cookieText(value: string, seconds: number, secure: boolean): string {
  return `${CONSOLE_COOKIE}=${value}; Path=${COOKIE_PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
