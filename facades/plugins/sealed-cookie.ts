/**
 * Cookies that hold a key, sealed, so that neither a script nor whoever reads them learns it. Nothing is kept here:
 * every facade replica that has the edges' key opens what another one sealed; without that key a cookie ends with its
 * process. What ends it everywhere is revoking the key, which is checked anew at every request.
 */
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { SealError, Sealer } from '@slipway/kit/host/seal';
import { cookieValues, HOST_PREFIX } from '@slipway/kit/net/own-cookies';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** A kind of cookie. */
export interface CookieKind {
  name: string;
  /** What a browser sends it for, where it comes without TLS. By TLS it is for all of its host, as its prefix wants. */
  path: string;
  sameSite: 'Strict' | 'Lax';
  /** Lifetime in milliseconds. */
  lifetimeMs: number;
  /** Binds the sealed text to its use: no other text of the same key opens as one. */
  identity: string;
  /** Of the secret that it is sealed with. */
  purpose: string;
}

/** Content of a cookie. */
export interface KeyHeld {
  apiKey: string;
  /** Milliseconds since 1970. */
  untilMs: number;
  /** It was made for a browser that came by TLS: what comes without the prefix was set by somebody else then. */
  secure: boolean;
}

export class SealedCookies<Held extends KeyHeld> {
  readonly #kind: CookieKind;
  readonly #sealer: Sealer;
  readonly #clock: Clock;

  /** `edgeKey`: what all facades of an installation share; empty: cookies are this process's alone. */
  constructor(kind: CookieKind, edgeKey: string, clock: Clock, random: Random) {
    const key = edgeKey === '' ? random.bytes(32) : createHmac('sha256', edgeKey).update(kind.purpose).digest();
    this.#kind = kind;
    this.#sealer = new Sealer(key.toString('hex'));
    this.#clock = clock;
  }

  /** Returns the content of a new cookie and its Set-Cookie header. `secure`: the browser uses TLS. */
  begin(given: Omit<Held, keyof KeyHeld> & Pick<KeyHeld, 'apiKey'>, secure: boolean): { held: Held; cookie: string } {
    const held = { ...given, untilMs: this.#clock.nowMs() + this.#kind.lifetimeMs, secure } as Held;
    const sealed = this.#sealer.seal(Buffer.from(JSON.stringify(held)), this.#kind.identity).toString('base64url');
    return { held, cookie: this.#text(sealed, this.#kind.lifetimeMs / 1_000, secure) };
  }

  /** The Set-Cookie that takes it from its browser. */
  end(secure: boolean): string {
    return this.#text('', 0, secure);
  }

  /** Returns the content of the first valid cookie of a request. `undefined` if there is none. */
  of({ headers }: Pick<IncomingMessage, 'headers'>): Held | undefined {
    for (const { secure, value } of cookieValues(headers.cookie, this.#kind.name)) {
      const held = this.#open(value);
      if (held && (held.secure ?? false) === secure && held.untilMs > this.#clock.nowMs()) return held;
    }
    return undefined;
  }

  #open(sealed: string): Held | undefined {
    try {
      return JSON.parse(
        this.#sealer.open(Buffer.from(sealed, 'base64url'), this.#kind.identity).toString('utf8'),
      ) as Held;
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }

  #text(value: string, seconds: number, secure: boolean): string {
    const { name, path, sameSite } = this.#kind;
    const [shown, where] = secure ? [HOST_PREFIX + name, '/'] : [name, path];
    return `${shown}=${value}; Path=${where}; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`;
  }
}
