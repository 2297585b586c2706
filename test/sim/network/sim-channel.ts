/** A channel of gRPC over the network in memory, and the client's end of its calls. */
import type { ChannelInterface, StatusObject } from '@grpc/grpc-js';
import { Metadata, connectivityState as State, status as Status } from '@grpc/grpc-js';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { BEGIN_MS } from '../world/world.ts';
import type { ConnectedCall, End, SimConnection } from './sim-connection.ts';
import { ServerCall } from './sim-server-call.ts';

/** The library's call, which its clients drive. */
type Call = ReturnType<ChannelInterface['createCall']>;
type CallListener = Parameters<Call['start']>[1];
type Connect = (done: (connection: SimConnection | undefined) => void) => void;

/** Pause before a call that waits for a connection tries again, in milliseconds. */
const RECONNECT_MS = 500;

export class SimChannel implements ChannelInterface {
  readonly #world: World;
  readonly #being: Being;
  readonly #address: string;
  readonly #connect: Connect;
  #state: State = State.IDLE;
  #connection: SimConnection | undefined;
  /** Calls that wait for the connection. */
  #waiting: ((connection: SimConnection | undefined) => void)[] = [];
  #watchers: { state: State; changed(): void }[] = [];

  constructor(world: World, being: Being, address: string, connect: Connect) {
    this.#world = world;
    this.#being = being;
    this.#address = address;
    this.#connect = connect;
  }

  getTarget(): string {
    return this.#address;
  }

  getChannelzRef(): never {
    throw new Error('There is no channelz here.');
  }

  getConnectivityState(tryToConnect: boolean): State {
    if (this.#state === State.SHUTDOWN) throw new Error('Channel has been shut down');
    if (tryToConnect && this.#state === State.IDLE) this.#open();
    return this.#state;
  }

  watchConnectivityState(state: State, deadline: Date | number, callback: (error?: Error) => void): void {
    if (this.#state !== state) return void process.nextTick(() => callback());
    const watcher = {
      state,
      changed: () => {
        timer.cancel();
        callback();
      },
    };
    this.#watchers.push(watcher);
    const timer = this.#world.after(this.leftMs(deadline), this.#being, () => {
      this.#watchers = this.#watchers.filter((other) => other !== watcher);
      callback(new Error('Deadline passed without connectivity state change'));
    });
  }

  createCall(method: string, deadline: Date | number): Call {
    return new ClientCall(this, method, deadline);
  }

  close(): void {
    this.#connection?.cut();
    this.#enter(State.SHUTDOWN);
    for (const wait of this.#waiting.splice(0)) wait(undefined);
  }

  /** Calls `use` with the connection, or with `undefined` if there is none. */
  withConnection(use: (connection: SimConnection | undefined) => void): void {
    if (this.#state === State.SHUTDOWN) return use(undefined);
    if (this.#connection) return use(this.#connection);
    this.#waiting.push(use);
    if (this.#state === State.IDLE) this.#open();
  }

  /** Milliseconds until a deadline by the wall clock of the process. */
  leftMs(deadline: Date | number): number {
    return Number(deadline) - BEGIN_MS - this.#world.nowMs - (this.#being.clockErrorMs ?? 0);
  }

  /** Runs something at this end after so many milliseconds. */
  after(ms: number, run: () => void): { cancel(): void } {
    return ms === Infinity ? { cancel: () => undefined } : this.#world.after(ms, this.#being, run);
  }

  #open(): void {
    this.#enter(State.CONNECTING);
    this.#connect((connection) => {
      if (this.#state === State.SHUTDOWN) return connection?.cut();
      this.#connection = connection;
      if (connection)
        connection.onBroken = () => {
          this.#connection = undefined;
          if (this.#state !== State.SHUTDOWN) this.#enter(State.IDLE);
        };
      this.#enter(connection ? State.READY : State.IDLE);
      for (const use of this.#waiting.splice(0)) use(connection);
    });
  }

  #enter(state: State): void {
    this.#state = state;
    const due = this.#watchers.filter((watcher) => watcher.state !== state);
    this.#watchers = this.#watchers.filter((watcher) => watcher.state === state);
    for (const { changed } of due) changed();
  }
}

/** The client's end of a call. */
class ClientCall implements ConnectedCall {
  readonly #channel: SimChannel;
  readonly #method: string;
  readonly #deadline: Date | number;
  #listener: CallListener | undefined;
  #connection: SimConnection | undefined;
  #server: ServerCall | undefined;
  /** What is sent once there is a connection. */
  #early: (() => void)[] = [];
  readonly #unread: Buffer[] = [];
  #isReading = false;
  #status: StatusObject | undefined;
  #isOver = false;
  #timer: { cancel(): void } | undefined;

  constructor(channel: SimChannel, method: string, deadline: Date | number) {
    this.#channel = channel;
    this.#method = method;
    this.#deadline = deadline;
  }

  start(metadata: Metadata, listener: CallListener): void {
    this.#listener = listener;
    const details = 'Deadline exceeded';
    this.#timer = this.#channel.after(this.#channel.leftMs(this.#deadline), () =>
      this.cancelWithStatus(Status.DEADLINE_EXCEEDED, details),
    );
    const use = (connection: SimConnection | undefined): void => {
      if (this.#isOver) return;
      if (!connection && metadata.getOptions().waitForReady)
        return void this.#channel.after(RECONNECT_MS, () => this.#channel.withConnection(use));
      if (!connection) return this.ended(Status.UNAVAILABLE, `No connection established to ${this.getPeer()}`);
      this.#connection = connection;
      connection.calls.add(this);
      const sent = metadata.clone();
      connection.send('server', () => {
        this.#server = new ServerCall(connection, this, { method: this.#method, metadata: sent });
        this.#server.begin();
      });
      for (const send of this.#early.splice(0)) send();
    };
    this.#channel.withConnection(use);
  }

  sendMessageWithContext({ callback }: { callback?: (error?: Error | null) => void }, message: Buffer): void {
    const bytes = Buffer.from(message);
    this.#send((connection) => {
      connection.send('server', () => this.#server?.arrived(bytes));
      connection.taken('client', () => callback?.());
    });
  }

  halfClose(): void {
    this.#send((connection) => connection.send('server', () => this.#server?.halfClosed()));
  }

  startRead(): void {
    this.#isReading = true;
    this.#next();
  }

  cancelWithStatus(code: Status, details: string): void {
    if (this.#isOver) return;
    this.#connection?.send('server', () => this.#server?.cancelled());
    process.nextTick(() => this.ended(code, details));
  }

  arrived(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#unread.push(bytes);
    this.#next();
  }

  opened(metadata: Metadata): void {
    if (!this.#isOver) this.#listener?.onReceiveMetadata(metadata);
  }

  /** A failure is reported at once, a success after all messages. */
  ended(code: Status, details: string, metadata = new Metadata()): void {
    this.#status ??= { code, details, metadata };
    if (code !== Status.OK) this.#unread.length = 0;
    this.#next();
  }

  broken(end: End): void {
    if (end === 'server') this.#server?.cancelled();
    else this.ended(Status.UNAVAILABLE, 'Connection dropped');
  }

  getPeer(): string {
    return this.#channel.getTarget();
  }

  getCallNumber(): number {
    return 0;
  }

  setCredentials(): void {}

  getAuthContext(): null {
    return null;
  }

  #send(send: (connection: SimConnection) => void): void {
    const connection = this.#connection;
    if (this.#isOver) return;
    if (connection) send(connection);
    else this.#early.push(() => send(this.#connection!));
  }

  #next(): void {
    if (this.#isOver) return;
    const [message] = this.#unread;
    if (message !== undefined) {
      if (!this.#isReading) return;
      this.#isReading = false;
      this.#unread.shift();
      return this.#listener?.onReceiveMessage(message);
    }
    if (!this.#status) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#connection?.calls.delete(this);
    this.#listener?.onReceiveStatus(this.#status);
  }
}
