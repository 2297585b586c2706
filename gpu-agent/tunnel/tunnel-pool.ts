/**
 * Keeps a tunnel open to each facade, so that facades reach the workers of this machine although they cannot dial it.
 * An edge reports how many facades it has; each gets a tunnel. A tunnel that ends is opened again, with growing pauses.
 * When the key changes another tunnel is opened with the new one, and the old tunnel ends after its requests. Failures
 * are logged once and then once a minute.
 */
import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { request as httpRequest } from '@slipway/kit/net/node-http';
import { explainConnection } from '@slipway/kit/net/tls';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import { TUNNEL_COUNT_HEADER, TUNNEL_FACADES_MAX, TUNNEL_PATH, TUNNEL_PROTOCOL } from '@slipway/kit/net/tunnel';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { TunnelEndOptions } from './tunnel-end.ts';
import { serveTunnel } from './tunnel-end.ts';

/** Pauses between tries. The first is short, because requests wait for it; a facade that rejects does so for long. */
const PAUSE = { firstMs: 100, maxMs: 5_000 };
/** Time after which a tunnel that ends does not count as a failure, in milliseconds. */
const STABLE_MS = 5_000;
const OPEN_MS = 10_000;
/** Time between two looks whether the key has changed, in milliseconds. */
const KEY_PERIOD_MS = 1_000;
const WARN_PERIOD_MS = 60_000;
/** Most of a rejection's text that is logged, in characters. */
const SAID_MAX = 300;

/** Dependencies and settings of the pool. */
interface TunnelPoolOptions extends TunnelEndOptions {
  /** Facades, or edges in front of them: `http://host:port` or `https://host:port`. */
  addresses: readonly string[];
  /** Returns the key that speaks for this machine. */
  key(): string;
  /** TLS settings for https addresses. */
  tls: TlsSource;
  random: Random;
  clock: Clock;
  logger: Logger;
}

/** A tunnel whose key is not the one to use any more. It is still open. */
interface OutdatedTunnel {
  outdated: ServerHttp2Session;
}

export class TunnelPool extends BaseService {
  readonly name = 'tunnels';
  readonly #options: TunnelPoolOptions;
  /** One for each facade, by URL. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: TunnelPoolOptions) {
    super();
    this.#options = options;
  }

  /** Begins to open tunnels. Does not wait until they are open. */
  protected override onStart(): void {
    for (const address of this.#options.addresses) this.#keep(address, 0);
  }

  protected override async onStop(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #keep(address: string, number: number): void {
    const url = new URL(`${TUNNEL_PATH}${number}`, address).href;
    if (!this.#running.has(url) && !this.ending.aborted) this.#running.set(url, this.#run(url, address));
  }

  async #run(url: string, address: string): Promise<void> {
    const { clock, random, logger } = this.#options;
    let failures = 0;
    let reportedAtMs = -Infinity;
    let before: ServerHttp2Session | undefined;
    while (!this.ending.aborted) {
      const startedMs = clock.monotonicMs();
      const reason = await this.#once(url, address, before);
      if (this.ending.aborted) return;
      if (typeof reason === 'object') {
        before = reason.outdated;
        continue;
      }
      const wasStable = clock.monotonicMs() - startedMs >= STABLE_MS;
      failures = wasStable ? 1 : failures + 1;
      if (wasStable || clock.monotonicMs() - reportedAtMs >= WARN_PERIOD_MS) {
        reportedAtMs = clock.monotonicMs();
        logger.warn(
          { url, reason },
          'no tunnel, will try again: facades cannot reach the workers of this machine by it',
        );
      }
      await delay(clock, backoffMs(failures, PAUSE, random), this.ending);
    }
  }

  /**
   * Opens a tunnel and serves it to its end, or until the key changes. When it is open, `before` takes no more
   * requests. Returns why it ended. Never rejects.
   */
  async #once(url: string, address: string, before?: ServerHttp2Session): Promise<string | OutdatedTunnel> {
    try {
      const key = this.#options.key();
      const { socket, facades } = await this.#ask(url, key);
      for (let number = 1; number < facades; number += 1) this.#keep(address, number);
      this.#options.logger.info({ url }, 'tunnel opened');
      const ended = this.#serve(socket, key);
      before?.close();
      return await ended;
    } catch (error) {
      const message = (error as Error).message;
      return explainConnection(message, address) ?? message;
    }
  }

  #serve(socket: Socket, key: string): Promise<string | OutdatedTunnel> {
    const { clock } = this.#options;
    const session = serveTunnel(socket, this.#options);
    const end = (): void => session.destroy();
    this.ending.addEventListener('abort', end, { once: true });
    return new Promise((resolve) => {
      let reason = 'it was ended';
      const compare = (): void => {
        if (this.#options.key() !== key) resolve({ outdated: session });
        else timer = clock.after(KEY_PERIOD_MS, compare);
      };
      let timer = clock.after(KEY_PERIOD_MS, compare);
      session.on('error', (error) => {
        reason = error.message;
      });
      session.once('close', () => {
        timer.cancel();
        this.ending.removeEventListener('abort', end);
        resolve(reason);
      });
    });
  }

  #ask(url: string, key: string): Promise<{ socket: Socket; facades: number }> {
    const { tls, clock } = this.#options;
    const headers = { authorization: `Bearer ${key}`, connection: 'Upgrade', upgrade: TUNNEL_PROTOCOL };
    const options = { headers, agent: false, signal: this.ending } as const;
    return new Promise((resolve, reject) => {
      const asked = url.startsWith('https:')
        ? httpsRequest(url, { ...options, ...tls.material(), ...serverName(url) })
        : httpRequest(url, options);
      const timer = clock.after(OPEN_MS, () => asked.destroy(new Error(`there was no answer in ${OPEN_MS / 1_000} s`)));
      asked.once('close', () => timer.cancel());
      asked.on('error', reject);
      asked.once('response', (answer) => {
        void rejectionText(answer).then((text) => reject(new Error(text)));
      });
      asked.once('upgrade', (answer, socket: Socket, head) => {
        timer.cancel();
        if (head.length > 0) socket.unshift(head);
        const reported = Number(answer.headers[TUNNEL_COUNT_HEADER]);
        resolve({
          socket,
          facades: Number.isInteger(reported) ? Math.min(Math.max(reported, 1), TUNNEL_FACADES_MAX) : 1,
        });
      });
      asked.end();
    });
  }
}

/** Returns an empty server name for an IP address: TLS does not name servers by address. */
function serverName(url: string): { servername?: string } {
  return isIP(new URL(url).hostname.replace(/^\[|\]$/g, '')) === 0 ? {} : { servername: '' };
}

async function rejectionText(answer: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const piece of answer) if (text.length < SAID_MAX) text += String(piece);
  } catch {
    // The part that was read is enough.
  }
  return `it was refused by ${answer.statusCode}: ${text.slice(0, SAID_MAX)}`;
}
