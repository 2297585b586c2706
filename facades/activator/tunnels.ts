/**
 * Holds the tunnels that agents have opened to this facade (kit/net/tunnel.ts). They lead to workers on machines
 * that cannot be dialled. When a tunnel breaks, the requests that it carries fail; queued requests keep waiting, and
 * the agent opens another tunnel.
 */

import type { IncomingMessage } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { TUNNEL_OPTIONS, TUNNEL_PATH, TUNNEL_PROTOCOL, TUNNEL_STREAMS_MAX, watchTunnel } from '@slipway/kit/net/tunnel';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import { linger } from '../plugins/connections/lingering-close.ts';
import { keyOfRestRequest } from '../plugins/credentials.ts';
import { TunnelConnection } from './tunnel-connection.ts';

/** Time between two authorizations of an open tunnel, in milliseconds (edge_service.proto). */
const AUTHORIZE_MS = 20_000;
/** Most tunnels of one machine: one in use, the others ending. */
const MACHINE_TUNNELS_MAX = 4;
/** Most concurrent authorizations: a flood of invalid keys must not become a flood of calls to core. */
const AUTHORIZING_MAX = 100;
/** Longest time to open a connection to a worker, in milliseconds. */
const CONNECT_MS = 3_000;

interface TunnelsOptions {
  /** Returns the id of the machine whose tunnel the key may open. Throws CoreError. */
  authorize(apiKey: string): Promise<string>;
  /** Time between two authorizations, in milliseconds. Default AUTHORIZE_MS. */
  authorizeMs?: number | undefined;
  clock: Clock;
  logger: Logger;
}

interface Tunnel {
  session: ClientHttp2Session;
  apiKey: string;
  streams: number;
}

/** Returns whether a request asks for a tunnel. */
export function asksForTunnel({ url, headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === TUNNEL_PROTOCOL && (url ?? '').startsWith(TUNNEL_PATH);
}

export class Tunnels extends BaseService {
  readonly name = 'tunnels';
  readonly #options: TunnelsOptions;
  /** Tunnels by machine, the oldest first. */
  readonly #machines = new Map<string, Tunnel[]>();
  #authorizing = 0;

  constructor(options: TunnelsOptions) {
    super();
    this.#options = options;
  }

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const tunnels of this.#machines.values()) for (const { session } of tunnels) session.destroy();
  }

  /** Accepts a connection of an agent, or answers with an error. Never rejects. */
  async accept(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const apiKey = keyOfRestRequest(request.headers.authorization);
    const { authorize, logger } = this.#options;
    try {
      if (apiKey === undefined) throw new CoreError('UNAUTHORIZED', 'A tunnel needs the key of an agent.');
      if (this.#authorizing >= AUTHORIZING_MAX)
        throw new CoreError('RATE_LIMITED', 'Too many tunnels are being opened; try again shortly.');
      this.#authorizing += 1;
      const machineId = await authorize(apiKey).finally(() => {
        this.#authorizing -= 1;
      });
      if (this.ending.aborted) throw new CoreError('UNAVAILABLE', 'The service is stopping.');
      if (!socket.destroyed) this.#open(machineId, apiKey, socket, head);
    } catch (error) {
      if (!isUnauthorized(error)) logger.warn({ err: error }, 'opening a tunnel failed');
      writeRejection(socket, error, this.#options.clock);
    }
  }

  /**
   * Opens a connection to a worker. Returns `undefined` if the machine has no tunnel, or nothing listens at its end.
   */
  async open(machineId: string, workerId: string, gone: AbortSignal): Promise<Duplex | undefined> {
    const tunnel = this.#machines.get(machineId)?.findLast((each) => hasCapacity(each));
    if (!tunnel || gone.aborted) return undefined;
    const stream = tunnel.session.request({ ':method': 'CONNECT', ':authority': workerId });
    tunnel.streams += 1;
    stream.once('close', () => {
      tunnel.streams -= 1;
    });
    if (!(await this.#connected(stream, gone))) return undefined;
    // The user of the connection adds its own listener. Errors before and after that must not be uncaught.
    return new TunnelConnection(stream).on('error', () => undefined);
  }

  #connected(stream: ClientHttp2Stream, gone: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        stream.destroy();
      };
      const timer = this.#options.clock.after(CONNECT_MS, giveUp);
      const done = (isConnected: boolean): void => {
        timer.cancel();
        gone.removeEventListener('abort', giveUp);
        if (!isConnected) stream.destroy();
        resolve(isConnected);
      };
      gone.addEventListener('abort', giveUp, { once: true });
      stream.once('response', (headers) => done(headers[':status'] === 200));
      stream.on('error', () => done(false));
      stream.once('close', () => done(false));
    });
  }

  #open(machineId: string, apiKey: string, socket: Socket, head: Buffer): void {
    const { clock, logger } = this.#options;
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (head.length > 0) socket.unshift(head);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${TUNNEL_PROTOCOL}\r\nConnection: Upgrade\r\n\r\n`);
    const session = connect('http://tunnel', { ...TUNNEL_OPTIONS, createConnection: () => socket });
    const tunnel: Tunnel = { session, apiKey, streams: 0 };
    const tunnels = this.#machines.get(machineId) ?? [];
    this.#machines.set(machineId, tunnels);
    tunnels.push(tunnel);
    // Removed at once, because it closes later: a tunnel that arrives before must end another one.
    if (tunnels.length > MACHINE_TUNNELS_MAX) tunnels.shift()!.session.destroy();
    session.on('error', (error) => logger.warn({ machineId, cause: error.message }, 'tunnel broke'));
    session.once('close', () => {
      const at = tunnels.indexOf(tunnel);
      if (at >= 0) tunnels.splice(at, 1);
      if (tunnels.length === 0 && this.#machines.get(machineId) === tunnels) this.#machines.delete(machineId);
      logger.info({ machineId }, 'tunnel closed');
    });
    watchTunnel(session, clock);
    this.#reauthorize(machineId, tunnel);
    logger.info({ machineId }, 'tunnel opened');
  }

  /**
   * Closes the tunnel when its key was revoked or given to another machine. While core is unreachable the tunnel stays
   * open.
   */
  #reauthorize(machineId: string, { session, apiKey }: Tunnel): void {
    const { authorize, authorizeMs = AUTHORIZE_MS, clock } = this.#options;
    const check = async (): Promise<void> => {
      const isValid = await authorize(apiKey).then(
        (now) => now === machineId,
        (error: unknown) => !isUnauthorized(error),
      );
      if (!isValid) session.destroy();
      else if (!session.destroyed) timer = clock.after(authorizeMs, () => void check());
    };
    let timer = clock.after(authorizeMs, () => void check());
    session.once('close', () => timer.cancel());
  }
}

function hasCapacity({ session, streams }: Tunnel): boolean {
  return !session.closed && !session.destroyed && streams < TUNNEL_STREAMS_MAX;
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof CoreError && error.reason === 'UNAUTHORIZED';
}

function writeRejection(socket: Socket, error: unknown, clock: Clock): void {
  const text = error instanceof CoreError ? error.message : 'Something went wrong on our side; it has been logged.';
  const status = isUnauthorized(error) ? '401 Unauthorized' : '503 Service Unavailable';
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: text/plain; charset=utf-8',
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  linger(socket, clock);
  // Unread bytes would hide the end of the connection.
  socket.resume();
}
