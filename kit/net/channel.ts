/**
 * Opens all gRPC channels and servers, with credentials, keepalive, message limits, retries and metadata. Settings of
 * all connections between Slipway's processes belong here and nowhere else.
 */

import type { Http2Server } from 'node:http2';
import type { Socket } from 'node:net';
import type {
  ChannelOptions,
  ClientOptions,
  Interceptor,
  MetadataOptions,
  ServerInterceptor,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ChannelCredentials, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import type { PartVersion } from '@slipway/kit/host/part-version';
import { userAgentOf } from '@slipway/kit/host/part-version';
import { MESSAGE_BYTES_MAX } from '@slipway/proto/wire/limits';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { backgroundClock, systemClock } from '../time/clock.ts';
import type { ServerTls } from '../tls/server-tls.ts';
import { parseAddress } from './address.ts';
import { listenFault } from './listen-fault.ts';
import { TlsSource } from './tls-source.ts';

/** Options of every channel and server: large messages, and pings that notice a dead peer within 30 s. */
const CHANNEL_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
  'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
  'grpc.keepalive_time_ms': LINK_TIMERS.pingMs,
  'grpc.keepalive_timeout_ms': LINK_TIMERS.pingAnswerMs,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A separate channel for every owner: a burst of resets on one must not take the others' streams down with the
  // connection.
  'grpc.use_local_subchannel_pool': 1,
};

/** Settings of a channel. */
export interface ChannelSettings {
  /**
   * The library retries a call that broke before the peer started it. Default true; set false if a second call would
   * do harm.
   */
  retries?: boolean;
  /** Receive window in bytes; default 64 KiB, with which a large message waits for a round trip per piece. */
  windowBytes?: number;
  /** Interval and timeout of keepalive pings, in milliseconds. Default: 20 s and 10 s. */
  pings?: { everyMs: number; answerMs: number };
  /**
   * Certificates for grpcs addresses. Default: the authorities that this machine trusts, and no client certificate.
   */
  tls?: TlsSource | undefined;
  /** Interceptors of every call, in this order. Default none. */
  interceptors?: Interceptor[];
}

/** Constructor of a generated client. */
export type ClientConstructor<Kind> = new (
  address: string,
  channelCredentials: ChannelCredentials,
  options?: Partial<ClientOptions>,
) => Kind;

/** A service of a server: its definition and handlers. */
export type ServedService = readonly [definition: ServiceDefinition, handlers: UntypedServiceImplementation];

/**
 * Most stream resets on one connection: in a burst, and per second after it. Node's defaults (1,000 and 33) are meant
 * for one browser. Behind an edge many clients share a connection, and beyond the bound it is closed for all of them.
 */
const RESETS = { streamResetBurst: 20_000, streamResetRate: 2_000 };

/**
 * Maximum open calls of a connection, which need no key to be opened. Slipway's own clients
 * wait for a free one; a facade's many calls share few of them (Pipeline), and an edge opens a further connection.
 */
export const CONNECTION_STREAMS_MAX = 2_048;

/**
 * Bytes that a client may send before the server has read them, of a call and of a connection. With HTTP/2's 64 KiB a
 * submission of 10 MB takes 320 turns of both processes, and half as much processor time again.
 */
const SERVER_WINDOW_BYTES = 256 * 1024;

/** Parts of grpc-js's server that have no option. */
interface ServerParts {
  readonly commonServerOptions: object;
  /** The listeners. */
  readonly http2Servers: ReadonlyMap<Http2Server, unknown>;
}

/** Makes a server, which does not listen yet. */
export function openServer(services: readonly ServedService[], interceptors: ServerInterceptor[] = []): Server {
  const server = new Server({ ...CHANNEL_OPTIONS, interceptors });
  // grpc-js hands no such options through; what it opens each listener with is its own.
  const settings = { maxConcurrentStreams: CONNECTION_STREAMS_MAX, initialWindowSize: SERVER_WINDOW_BYTES };
  Object.assign((server as unknown as ServerParts).commonServerOptions, { ...RESETS, settings });
  for (const [definition, handlers] of services) server.addService(definition, handlers);
  return server;
}

/**
 * How our processes reach each other by gRPC. Handed in, so that tests can hold and cut any one connection between
 * them.
 */
export interface Transport {
  /**
   * Makes a client with a separate channel, which connects at the first call. `address`: host:port, grpcs://host:port
   * or a gRPC target. Close the client at the end. Throws when the files of `tls` were never good.
   */
  openClient<Kind>(Constructor: ClientConstructor<Kind>, address: string, settings?: ChannelSettings): Kind;
  /** Makes a server listen at host:port, by TLS if `tls` is given. Port 0: any free one. Returns the port. */
  listen(server: Server, address: string, tls?: ServerTls): Promise<number>;
}

/** The system's network. Its callers do not name their part. */
export const systemTransport: Transport = networkTransport();

/** Returns the system's network for one part, whose calls name it and its version. */
export function networkTransport(part?: PartVersion): Transport {
  const named = part ? { 'grpc.primary_user_agent': userAgentOf(part) } : {};
  return {
    openClient(Constructor, address, { retries = true, windowBytes, interceptors, pings, tls } = {}) {
      const { target, secure } = parseAddress(address) ?? { target: address, secure: false };
      return new Constructor(
        target,
        new AnsweringCredentials(
          secure ? (tls ?? new TlsSource()).credentials(systemClock) : credentials.createInsecure(),
        ),
        {
          ...CHANNEL_OPTIONS,
          ...named,
          ...(retries ? {} : { 'grpc.enable_retries': 0 }),
          ...(windowBytes === undefined ? {} : { 'grpc-node.flow_control_window': windowBytes }),
          ...(interceptors ? { interceptors } : {}),
          ...(pings ? { 'grpc.keepalive_time_ms': pings.everyMs, 'grpc.keepalive_timeout_ms': pings.answerMs } : {}),
        },
      );
    },
    listen: (server, address, serverTls) =>
      new Promise((resolve, reject) => {
        server.bindAsync(address, serverTls?.credentials ?? ServerCredentials.createInsecure(), (error, port) => {
          if (error) return reject(listenFault(error, address));
          for (const listener of (server as unknown as ServerParts).http2Servers.keys())
            listener.on('session', (session) => session.setLocalWindowSize(SERVER_WINDOW_BYTES));
          resolve(port);
        });
      }),
  };
}

/** Returns the metadata of a call with an API key. Empty: without a key. */
export function callMetadata(apiKey: string, options?: MetadataOptions): Metadata {
  const metadata = new Metadata(options);
  if (apiKey !== '') metadata.set('authorization', `Bearer ${apiKey}`);
  return metadata;
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * Credentials whose connections end unless the server sends something soon. grpc-js pings a connection only after the
 * server's first message, and waits for that without an end: a host that froze after it had accepted the connection,
 * and was then reset, would never be reached again by a channel that waits for it.
 */
class AnsweringCredentials extends ChannelCredentials {
  readonly #credentials: ChannelCredentials;

  constructor(credentials: ChannelCredentials) {
    super();
    this.#credentials = credentials;
  }

  _isSecure(): boolean {
    return this.#credentials._isSecure();
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(...parts: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
    const connector = this.#credentials._createSecureConnector(...parts);
    return {
      connect: async (socket) => {
        endSilent(socket);
        const connected = await connector.connect(socket);
        // A proxy may have made the handshake for a server that sends nothing.
        if (connected.socket !== socket) endSilent(connected.socket);
        return connected;
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}

/** Destroys a connection on which nothing has arrived within the wait for a ping's answer. */
function endSilent(socket: Socket): void {
  const timer = backgroundClock.after(LINK_TIMERS.pingAnswerMs, () => {
    if (socket.bytesRead === 0) socket.destroy(new Error('the server accepted the connection, but sent nothing'));
  });
  socket.once('close', () => timer.cancel());
}
