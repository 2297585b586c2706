/**
 * Makes one webhook call: JSON by POST, signed when the endpoint has a secret, never to a private address unless that
 * is allowed.
 */

import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns';
import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { getCACertificates } from 'node:tls';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { Agent, request } from '@slipway/kit/net/node-http';
import { isPrivateAddress, isPrivateHost } from '@slipway/kit/net/private-address';
import type { Clock } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import { signWebhook } from './sign-webhook.ts';

/** A call to make. */
interface WebhookCall {
  url: string;
  body: Buffer;
  /** Id of the call, the same for all its tries. */
  id: string;
  /** `whsec_` and base64. `undefined`: no signature. */
  secret: string | undefined;
  /** Now, in milliseconds since 1970, for the signature. */
  nowMs: number;
  /** True if it may go to a private address. */
  allowPrivate: boolean;
  /** Account that the signing is charged to. */
  owner: string;
}

/** Certificate authorities in PEM, read again when their file changes. */
export interface WebhookAuthorities {
  current(): { pem: string };
}

/** Longest try in milliseconds (docs/reference/api.md#webhooks). */
export const TRY_MS_MAX = 30_000;
/** Bytes of an answer that are read and thrown away before the connection is closed. */
const ANSWER_BYTES_MAX = 65_536;
/** Responses before the answer (1xx) that are accepted. More of them could keep the process busy for the whole try. */
const EARLY_RESPONSES_MAX = 100;
const USER_AGENT = 'Slipway-Webhook/1';
/**
 * Calls at once. All of them may go to one host: a call that waited here for a connection would lose its own time
 * meanwhile.
 */
export const AT_ONCE_MAX = 64;

/** Time in milliseconds for which an unused connection stays open. */
const UNUSED_MS_MAX = 4_000;

/** Connections for each kind of address. */
interface Connections {
  http: HttpAgent;
  https: HttpsAgent;
}

export class WebhookCaller {
  #anywhere: Connections | undefined;
  /**
   * Own connections: one opened for an account that may call private addresses must not carry another account's call.
   */
  #publicOnly: Connections | undefined;
  readonly #clock: Clock;
  readonly #signing: SlicedWork;

  readonly #authorities: WebhookAuthorities | undefined;
  /** Authorities that the current connections trust, in PEM. */
  #trusted: string | undefined;

  /** `authorities`: trusted in addition to the machine's. Default: none. */
  constructor(clock: Clock, authorities?: WebhookAuthorities) {
    this.#clock = clock;
    this.#authorities = authorities;
    // Waiting work is bounded by the concurrent calls and bytes.
    this.#signing = new SlicedWork({ name: 'webhooks', bytesMax: Infinity, ownerBytesMax: Infinity, clock });
  }

  /**
   * Makes one try. Returns `undefined` if the receiver answered 2xx, else why the try failed. Redirects are not
   * followed. Aborting counts as a failure.
   */
  async call(call: WebhookCall, signal: AbortSignal): Promise<string | undefined> {
    if (!call.allowPrivate && isPrivateHost(new URL(call.url).hostname)) return 'the address is private';
    try {
      const headers = await this.#signed(call);
      return await within(this.#clock, TRY_MS_MAX, signal, (ending) => this.#post(call, headers, ending));
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 500) || error.name : 'the call failed';
    }
  }

  async #post(
    { url, body, allowPrivate }: WebhookCall,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const target = new URL(url);
    const { username, password } = target;
    // Node would decode them, and reject what cannot be decoded.
    target.username = '';
    target.password = '';
    const { http, https } = this.#connections(allowPrivate);
    const options = {
      method: 'POST',
      signal,
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        'user-agent': USER_AGENT,
        ...basicAuth(username, password),
        ...headers,
      },
    };
    const status = await new Promise<number>((resolve, reject) => {
      const onAnswer = (answer: IncomingMessage): void => {
        const read = (): void => {
          resolve(answer.statusCode!);
          // A receiver that answers without reading the call could hold the connection and the body forever.
          if (!call.writableFinished) call.destroy();
        };
        discard(answer, read, reject);
      };
      const call =
        target.protocol === 'https:'
          ? httpsRequest(target, { ...options, agent: https }, onAnswer)
          : request(target, { ...options, agent: http }, onAnswer);
      let early = 0;
      call.on('information', () => {
        early += 1;
        if (early > EARLY_RESPONSES_MAX)
          call.destroy(new Error(`the receiver sent more than ${EARLY_RESPONSES_MAX} 1xx responses`));
      });
      call.on('error', (error) => reject(signal.aborted ? signal.reason : error));
      // After a change of the protocol (101) no event but this follows, not even when the try is aborted.
      call.once('close', () => reject(new Error('the connection was aborted')));
      call.end(body);
    });
    return status >= 200 && status < 300 ? undefined : `the receiver answered ${status}`;
  }

  async #signed({ id, body, secret, nowMs, owner }: WebhookCall): Promise<Record<string, string>> {
    return secret === undefined
      ? {}
      : await this.#signing.run(owner, body.length, signWebhook({ id, body, secret, nowMs }));
  }

  #connections(allowPrivate: boolean): Connections {
    const pem = this.#authorities?.current().pem;
    if (pem !== this.#trusted) this.#renew(pem);
    const trusted = pem !== undefined && { ca: [...getCACertificates('default'), pem] };
    return allowPrivate
      ? (this.#anywhere ??= openConnections({ ...trusted }))
      : (this.#publicOnly ??= openConnections({ lookup: lookupPublic, ...trusted }));
  }

  /** Calls under way end on the previous connections, which close when they have been unused for a while. */
  #renew(pem: string | undefined): void {
    this.#trusted = pem;
    this.#anywhere = undefined;
    this.#publicOnly = undefined;
  }

  /** Closes all connections; a later call opens new ones. */
  close(): void {
    for (const open of [this.#anywhere, this.#publicOnly]) {
      open?.http.destroy();
      open?.https.destroy();
    }
    this.#anywhere = undefined;
    this.#publicOnly = undefined;
  }
}

/** Returns the basic authentication header of a URL's user and password. Empty without them. */
function basicAuth(username: string, password: string): Record<string, string> {
  if (username === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function openConnections(connect: { lookup?: typeof lookupPublic; ca?: string[] }): Connections {
  const options = { keepAlive: true, maxSockets: AT_ONCE_MAX, timeout: UNUSED_MS_MAX, ...connect };
  return { http: new Agent(options), https: new HttpsAgent(options) };
}

/** Reads an answer to its end or its bound, throws it away, and calls `onRead`, or `onError` if it breaks off. */
function discard(answer: IncomingMessage, onRead: () => void, onError: (error: Error) => void): void {
  let bytes = 0;
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= ANSWER_BYTES_MAX) return;
    onRead();
    answer.destroy();
  });
  answer.once('end', onRead).once('error', onError);
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/**
 * Resolves a name to its public addresses, at the moment of connecting: a check made earlier could be answered
 * differently now.
 */
function lookupPublic(hostname: string, options: LookupOptions, done: LookupCallback): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return done(error, []);
    const allowed = addresses.filter(({ address }) => !isPrivateAddress(address));
    const [first] = allowed;
    if (!first) return done(Object.assign(new Error(`${hostname} is a private address`), { code: 'EACCES' }), []);
    if (options.all) return done(null, allowed);
    done(null, first.address, first.family);
  });
}
