/**
 * Makes cookies that hold an encrypted API key. Nothing is stored here: each facade replica with the edge key opens the
 * cookies of the others. Without an edge key a cookie ends with its process. Revoking the API key ends it everywhere,
 * because the key is checked at every request.
 */
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { SealError, Sealer } from '@slipway/kit/host/seal';
import { cookieValues, HOST_PREFIX } from '@slipway/kit/net/own-cookies';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** A kind of cookie. */
export interface CookieKind {
  name: string;
  /** Path of the cookie without TLS. With TLS it is valid for the whole host, as its prefix requires. */
  path: string;
  sameSite: 'Strict' | 'Lax';
  /** Lifetime in milliseconds. */
  lifetimeMs: number;
  /** Binds the encrypted text to its use: another text of the same key is not accepted. */
  identity: string;
  /** Purpose of the derived secret. */
  purpose: string;
}

/** Content of a cookie. */
export interface SealedKey {
  apiKey: string;
  /** Milliseconds since 1970. */
  untilMs: number;
  /** Whether the cookie was made for a browser with TLS. A cookie without the prefix is then from another source. */
  secure: boolean;
}

export class SealedCookies<Held extends SealedKey> {
  readonly #kind: CookieKind;
  /** The first one seals, all open. */
  readonly #sealers: readonly Sealer[];
  readonly #clock: Clock;

  /** `edgeKeys`: shared by all facades of an installation. None: cookies are for this process only. */
  constructor(kind: CookieKind, edgeKeys: EdgeKeys, clock: Clock, random: Random) {
    const derived = edgeKeys.map((key) => createHmac('sha256', key).update(kind.purpose).digest());
    this.#kind = kind;
    this.#sealers = (derived.length === 0 ? [random.bytes(32)] : derived).map((key) => new Sealer(key.toString('hex')));
    this.#clock = clock;
  }

  /** Returns the content of a new cookie and its Set-Cookie header. `secure`: the browser uses TLS. */
  begin(
    given: Omit<Held, keyof SealedKey> & Pick<SealedKey, 'apiKey'>,
    secure: boolean,
  ): { held: Held; cookie: string } {
    const held = { ...given, untilMs: this.#clock.nowMs() + this.#kind.lifetimeMs, secure } as Held;
    const sealed = this.#sealers[0]!.seal(Buffer.from(JSON.stringify(held)), this.#kind.identity).toString('base64url');
    return { held, cookie: this.#text(sealed, this.#kind.lifetimeMs / 1_000, secure) };
  }

  /** Returns the Set-Cookie header that deletes the cookie. */
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
    for (const sealer of this.#sealers) {
      try {
        return JSON.parse(sealer.open(Buffer.from(sealed, 'base64url'), this.#kind.identity).toString('utf8')) as Held;
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
      }
    }
    return undefined;
  }

  #text(value: string, seconds: number, secure: boolean): string {
    const { name, path, sameSite } = this.#kind;
    const [shown, where] = secure ? [HOST_PREFIX + name, '/'] : [name, path];
    return (
      `${shown}=${value}; Path=${where}; Max-Age=${seconds}; HttpOnly; ` +
      `SameSite=${sameSite}${secure ? '; Secure' : ''}`
    );
  }
}
