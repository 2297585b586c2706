/** The server's end of a call: drives the handlers of a server of grpc-js, through its interceptors. */
import type {
  Server,
  ServerInterceptingCall,
  ServerInterceptingCallInterface,
  ServerInterceptor,
  ServerMethodDefinition,
} from '@grpc/grpc-js';
import { Metadata, status as Status } from '@grpc/grpc-js';
import type { ConnectedCall, SimConnection } from './sim-connection.ts';

type Listener = Parameters<ServerInterceptingCallInterface['start']>[0];
type FinalStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/** A handler as the server keeps it. */
interface Handler {
  path: string;
  type: 'unary' | 'clientStream' | 'serverStream' | 'bidi';
  deserialize(bytes: Buffer): unknown;
  serialize(message: unknown): Buffer;
}

/** What the library's server has and does not show. */
interface ServerParts {
  handlers: Map<string, Handler>;
  interceptors: ServerInterceptor[];
  _runHandlerForCall(call: ServerInterceptingCallInterface, handler: Handler): boolean;
}

export class ServerCall implements ServerInterceptingCallInterface {
  readonly #connection: SimConnection;
  readonly #client: ConnectedCall;
  readonly #metadata: Metadata;
  readonly #handler: Handler | undefined;
  readonly #parts: ServerParts;
  #listener: Listener | undefined;
  /** Messages that were not read. `undefined`: the client has closed its side. */
  readonly #unread: (Buffer | undefined)[] = [];
  #isReading = false;
  #hasMetadata = false;
  #isOver = false;

  constructor(
    connection: SimConnection,
    client: ConnectedCall,
    { method, metadata }: { method: string; metadata: Metadata },
  ) {
    this.#connection = connection;
    this.#client = client;
    this.#metadata = metadata;
    this.#parts = connection.listener.server as Server as unknown as ServerParts;
    this.#handler = this.#parts.handlers.get(method);
  }

  /** Runs the handler. */
  begin(): void {
    const handler = this.#handler;
    if (!handler) return this.sendStatus({ code: Status.UNIMPLEMENTED, details: 'The method is unknown.' });
    const { path, type, deserialize, serialize } = handler;
    const method = {
      path,
      requestStream: type === 'clientStream' || type === 'bidi',
      responseStream: type === 'serverStream' || type === 'bidi',
      requestDeserialize: deserialize,
      responseSerialize: serialize,
    } as ServerMethodDefinition<unknown, unknown>;
    const call = this.#parts.interceptors.reduce(
      (inner: ServerInterceptingCallInterface, interceptor): ServerInterceptingCall => interceptor(method, inner),
      this,
    );
    this.#parts._runHandlerForCall(call, handler);
  }

  /** A message of the client has arrived. */
  arrived(bytes: Buffer): void {
    this.#unread.push(bytes);
    this.#next();
  }

  /** The client sends nothing more. */
  halfClosed(): void {
    this.#unread.push(undefined);
    this.#next();
  }

  /** The client has left, or its connection is gone. */
  cancelled(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    process.nextTick(() => this.#listener?.onCancel());
  }

  start(listener: Listener): void {
    this.#listener = listener;
    listener.onReceiveMetadata(this.#metadata);
  }

  startRead(): void {
    this.#isReading = true;
    this.#next();
  }

  sendMetadata(metadata: Metadata): void {
    if (this.#hasMetadata || this.#isOver) return;
    this.#hasMetadata = true;
    const sent = metadata.clone();
    this.#connection.send('client', () => this.#client.opened(sent));
  }

  sendMessage(message: unknown, callback: () => void): void {
    if (this.#isOver) return;
    const bytes = Buffer.from(this.#handler!.serialize(message));
    this.sendMetadata(new Metadata());
    this.#connection.send('client', () => this.#client.arrived(bytes));
    this.#connection.taken('server', () => {
      if (!this.#isOver) callback();
    });
  }

  sendStatus({ code, details, metadata }: FinalStatus): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const sent = metadata?.clone() ?? new Metadata();
    this.#connection.send('client', () => this.#client.ended(code, details, sent));
    process.nextTick(() => this.#listener?.onCancel());
  }

  getPeer(): string {
    return '10.0.0.1:1';
  }

  getDeadline(): number {
    return Infinity;
  }

  getHost(): string {
    return 'core';
  }

  getAuthContext(): Record<string, never> {
    return {};
  }

  getConnectionInfo(): Record<string, never> {
    return {};
  }

  getMetricsRecorder(): never {
    throw new Error('There is no recorder here.');
  }

  #next(): void {
    if (!this.#isReading || this.#unread.length === 0 || this.#isOver) return;
    this.#isReading = false;
    const bytes = this.#unread.shift();
    if (bytes === undefined) this.#listener?.onReceiveHalfClose();
    else this.#listener?.onReceiveMessage(this.#handler!.deserialize(bytes));
  }
}
