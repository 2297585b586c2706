/**
 * Tunnels that agents have opened to this facade (proto/wire/tunnel.ts): the way to workers of machines that cannot be dialled. A tunnel that breaks
 * takes the requests along that it carries; those that wait go on waiting, and its agent opens another.
 */
import { connect } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { BaseService } from '../../core/runtime/service.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { TUNNEL_OPTIONS, TUNNEL_PATH, TUNNEL_PROTOCOL, TUNNEL_STREAMS_MAX, watchTunnel } from '../../proto/wire/tunnel.ts';
import { keyOfRestRequest } from '../plugins/credentials.ts';
import { TunnelConnection } from './tunnel-connection.ts';

/** How often core is asked again whether a tunnel may stand, in milliseconds (edge_service.proto). */
const ADMIT_MS = 20_000;
/** Tunnels of one machine: the one that is used, and those that end. */
const OF_MACHINE_MAX = 4;
/** Requests for tunnels that core is asked about at a time: a flood of made-up keys must not become a flood of calls. */
const ADMITTING_MAX = 100;
/** Longest time for a connection to a worker, in milliseconds. */
const CONNECT_MS = 3_000;

/** What it needs. */
export interface TunnelsOptions {
  /** Answers whose tunnel may be opened with a key; throws CoreError. */
  admit(apiKey: string): Promise<string>;
  /** How often that is asked again, in milliseconds. Default: ADMIT_MS. */
  admitMs?: number | undefined;
  clock: Clock;
  logger: Logger;
}

interface Tunnel {
  session: ClientHttp2Session;
  apiKey: string;
  streams: number;
}

/** Whether a request asks for a tunnel. */
export function asksForTunnel({ url, headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === TUNNEL_PROTOCOL && (url ?? '').startsWith(TUNNEL_PATH);
}

export class Tunnels extends BaseService {
  readonly name = 'tunnels';
  readonly #options: TunnelsOptions;
  /** By machine, the oldest first. */
  readonly #machines = new Map<string, Tunnel[]>();
  #admitting = 0;

  constructor(options: TunnelsOptions) {
    super();
    this.#options = options;
  }

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const tunnels of this.#machines.values()) for (const { session } of tunnels) session.destroy();
  }

  /** Takes a connection that an agent has opened, or answers why not. Never rejects. */
  async accept(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const apiKey = keyOfRestRequest(request.headers.authorization);
    const { admit, logger } = this.#options;
    try {
      if (apiKey === undefined) throw new CoreError('UNAUTHORIZED', 'A tunnel needs the key of an agent.');
      if (this.#admitting >= ADMITTING_MAX) throw new CoreError('RATE_LIMITED', 'Too many tunnels are being opened; try again shortly.');
      this.#admitting += 1;
      const machineId = await admit(apiKey).finally(() => { this.#admitting -= 1; });
      if (this.ending.aborted) throw new CoreError('UNAVAILABLE', 'The service is stopping.');
      if (!socket.destroyed) this.#open(machineId, apiKey, socket, head);
    } catch (error) {
      if (!isRefusal(error)) logger.warn({ err: error }, 'a tunnel could not be opened');
      writeRefusal(socket, error);
    }
  }

  /** A connection to a worker of a machine; undefined: there is no tunnel, or nobody listens at its end. */
  async open(machineId: string, workerId: string, gone: AbortSignal): Promise<Duplex | undefined> {
    const tunnel = this.#machines.get(machineId)?.findLast((each) => hasRoom(each));
    if (!tunnel || gone.aborted) return undefined;
    const stream = tunnel.session.request({ ':method': 'CONNECT', ':authority': workerId });
    tunnel.streams += 1;
    stream.once('close', () => { tunnel.streams -= 1; });
    if (!await this.#connected(stream, gone)) return undefined;
    // Whoever uses it hears of its end; nobody may, before or after that.
    return new TunnelConnection(stream).on('error', () => undefined);
  }

  #connected(stream: ClientHttp2Stream, gone: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = (): void => { stream.destroy(); };
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
    // Taken out at once: it closes later, and those that come meanwhile must end others.
    if (tunnels.length > OF_MACHINE_MAX) tunnels.shift()!.session.destroy();
    session.on('error', (error) => logger.warn({ machineId, cause: error.message }, 'a tunnel broke'));
    session.once('close', () => {
      const at = tunnels.indexOf(tunnel);
      if (at >= 0) tunnels.splice(at, 1);
      if (tunnels.length === 0 && this.#machines.get(machineId) === tunnels) this.#machines.delete(machineId);
      logger.info({ machineId }, 'tunnel closed');
    });
    watchTunnel(session, clock);
    this.#lookAgain(machineId, tunnel);
    logger.info({ machineId }, 'tunnel opened');
  }

  /** A key that was revoked, or given to another machine, must not go on getting requests. While core is away nothing changes. */
  #lookAgain(machineId: string, { session, apiKey }: Tunnel): void {
    const { admit, admitMs = ADMIT_MS, clock } = this.#options;
    const look = async (): Promise<void> => {
      const may = await admit(apiKey).then((now) => now === machineId, (error: unknown) => !isRefusal(error));
      if (!may) session.destroy();
      else if (!session.destroyed) timer = clock.after(admitMs, () => void look());
    };
    let timer = clock.after(admitMs, () => void look());
    session.once('close', () => timer.cancel());
  }
}

function hasRoom({ session, streams }: Tunnel): boolean {
  return !session.closed && !session.destroyed && streams < TUNNEL_STREAMS_MAX;
}

function isRefusal(error: unknown): boolean {
  return error instanceof CoreError && error.reason === 'UNAUTHORIZED';
}

function writeRefusal(socket: Socket, error: unknown): void {
  const text = error instanceof CoreError ? error.message : 'Something went wrong on our side; it has been logged.';
  const status = isRefusal(error) ? '401 Unauthorized' : '503 Service Unavailable';
  const head = [`HTTP/1.1 ${status}`, 'Content-Type: text/plain; charset=utf-8', 'Connection: close', `Content-Length: ${Buffer.byteLength(text)}`];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
