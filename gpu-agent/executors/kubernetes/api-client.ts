/**
 * A client of the Kubernetes API with the few calls that the agent makes. The official one brings 16 packages with it
 * (OpenID, SOCKS, tar, WebSocket) for the same calls.
 */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { createSecureContext } from 'node:tls';
import type { Clock } from '@slipway/kit/time/clock';
import type { ApiAccess } from './api-access.ts';

/** A call failed. */
export class ApiError extends Error {
  /** HTTP status; 0 if there was no complete response. */
  readonly status: number;
  /** The API's word for it, for instance `AlreadyExists`; empty if unknown. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /** The same call may succeed later. */
  get mayPass(): boolean {
    return this.status === 0 || this.status === 401 || this.status === 429 || this.status >= 500;
  }
}

/** Parts of a call besides its path. */
interface CallOptions {
  query?: Readonly<Record<string, string | undefined>>;
  body?: object;
  /** Aborts the call, or the stream that it returned. */
  signal?: AbortSignal;
  /** Longest time for the whole response; for a stream for its head. Default: 30 s. */
  timeoutMs?: number;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

const TIMEOUT_MS = 30_000;
/** Most bytes of a response that is no stream. A list of 10,000 Pods has about 100 MB. */
const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/**
 * Time without bytes after which a connection is checked, in milliseconds. One that was cut silently ends ten seconds
 * later; without the check, a log would be followed there for ever.
 */
const KEEP_ALIVE_MS = 15_000;
/** Most connections for calls. A handshake costs the API server more than most calls, and nodes are many. */
const SOCKETS = 2;

export class ApiClient {
  readonly #access: ApiAccess;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #agent: Agent;
  /** Streams keep their connection for minutes, and calls must not wait for one. */
  readonly #streams: Agent;
  /** TLS session of the last connection. To resume it costs the API server a third of a full handshake. */
  #session: Buffer | undefined;

  constructor(access: ApiAccess, clock: Pick<Clock, 'after'>) {
    this.#access = access;
    this.#clock = clock;
    const { ca, cert, key } = access;
    // One for all connections: to read the authorities for each takes as long as the rest of its handshake.
    const secureContext = createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
    this.#agent = new Agent({ secureContext, keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxSockets: SOCKETS });
    this.#streams = new Agent({ secureContext, keepAlive: false });
  }

  /** Makes a call and returns its JSON. Rejects with ApiError. */
  async call<Result>(method: Method, path: string, options: CallOptions = {}): Promise<Result> {
    return this.#limited(options, async (signal) => {
      const response = await this.#send(this.#agent, method, path, { ...options, signal });
      return JSON.parse(await wholeBody(response)) as Result;
    });
  }

  /** Makes a GET whose response is read as it comes. Rejects with ApiError. */
  stream(path: string, options: CallOptions = {}): Promise<IncomingMessage> {
    return this.#limited(options, (signal) => this.#send(this.#streams, 'GET', path, { ...options, signal }));
  }

  /** Closes all connections. */
  close(): void {
    this.#agent.destroy();
    this.#streams.destroy();
  }

  /** Calls with a signal that aborts when the caller's does, or when the call takes too long. */
  async #limited<Result>(
    { signal, timeoutMs = TIMEOUT_MS }: CallOptions,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const late = new AbortController();
    const timer = this.#clock.after(timeoutMs, () => late.abort());
    try {
      return await call(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } finally {
      timer.cancel();
    }
  }

  async #send(agent: Agent, method: Method, path: string, { query = {}, body, signal }: CallOptions) {
    const url = new URL(`${this.#access.server}${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const token = await this.#access.token();
    const payload = body && JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
      ...(payload && {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const session = this.#session && { session: this.#session };
      const outgoing = request(url, { agent, method, headers, ...session, ...(signal && { signal }) }, resolve);
      outgoing.on('error', (error) => reject(noAnswer(error)));
      outgoing.on('socket', (socket) => {
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        this.#keepSession(socket as TLSSocket);
      });
      outgoing.end(payload);
    });
    // A cut that comes later ends the reader's loop, too.
    response.on('error', () => undefined);
    if (response.statusCode! < 300) return response;
    throw await failureOf(response);
  }

  /** Keeps the session of a new connection, which the server sends after the handshake. */
  #keepSession(socket: TLSSocket): void {
    if (socket.listenerCount('session', this.#onSession) === 0) socket.on('session', this.#onSession);
  }

  readonly #onSession = (session: Buffer): void => {
    this.#session = session;
  };
}

function noAnswer(error: Error): ApiError {
  return new ApiError(0, '', `the Kubernetes API does not answer: ${error.message}`);
}

async function failureOf(response: IncomingMessage): Promise<ApiError> {
  const body = await wholeBody(response);
  try {
    const { reason = '', message = body } = JSON.parse(body) as { reason?: string; message?: string };
    return new ApiError(response.statusCode!, reason, message);
  } catch {
    return new ApiError(response.statusCode!, '', body.slice(0, 1_024) || `status ${response.statusCode}`);
  }
}

async function wholeBody(response: IncomingMessage): Promise<string> {
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > RESPONSE_BYTES_MAX) response.destroy(new Error('the response is too large'));
  });
  try {
    return await text(response);
  } catch (error) {
    throw noAnswer(error as Error);
  }
}

/** Returns whether the object of a call does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
