/**
 * Sockets in memory. The driver of PostgreSQL opens one as it opens any socket; its host names the gate that it comes
 * to. No event of it depends on a kernel.
 */
import { EventEmitter } from 'node:events';
import net from 'node:net';

/** The other end of a socket. */
interface SocketPeer {
  /** Receives what the driver sends. */
  receive(bytes: Buffer): void;
  /** The driver has closed the socket. */
  closed(): void;
}

/** Accepts sockets for a host. */
type Acceptor = (socket: SimSocket) => SocketPeer;

const ACCEPTORS = new Map<string, Acceptor>();

/** Makes sockets to a host come to `accept`, until the function that it returns is called. */
export function listenAt(host: string, accept: Acceptor): () => void {
  ACCEPTORS.set(host, accept);
  return () => ACCEPTORS.delete(host);
}

export class SimSocket extends EventEmitter {
  destroyed = false;
  bytesRead = 0;
  readonly writableLength = 0;
  readyState: 'closed' | 'opening' | 'open' = 'closed';
  #peer: SocketPeer | undefined;

  connect(_port: number, host: string): void {
    this.readyState = 'opening';
    this.#peer = ACCEPTORS.get(host)?.(this);
  }

  setKeepAlive(): this {
    return this;
  }

  write(bytes: Buffer): boolean {
    if (!this.destroyed) this.#peer?.receive(bytes);
    return true;
  }

  end(bytes?: Buffer): void {
    if (bytes) this.write(bytes);
    this.destroy();
  }

  /** Closes the socket. The peer learns of it at once, the driver in the next tick. */
  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.readyState = 'closed';
    this.#peer?.closed();
    setImmediate(() => {
      if (error && this.listenerCount('error') > 0) this.emit('error', error);
      this.emit('close', error !== undefined);
    });
    return this;
  }

  /** The connection is open. */
  opened(): void {
    if (this.destroyed) return;
    this.readyState = 'open';
    this.emit('connect');
  }

  /** Bytes arrive for the driver. */
  arrive(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.emit('data', bytes);
  }
}

/** Listens without a socket: facades get their requests by `inject`. */
function listen(this: net.Server, ...given: unknown[]): net.Server {
  const onListening = given.at(-1);
  if (typeof onListening === 'function') this.once('listening', onListening as () => void);
  process.nextTick(() => this.emit('listening'));
  return this;
}

/**
 * Makes the driver use these sockets from now on, and servers listen without any. The process must do nothing else with
 * sockets of its own making. Returns a function that undoes it.
 */
export function useSimSockets(): () => void {
  const { Socket, Server } = net;
  const { listen: listenReally, address } = Server.prototype;
  Object.assign(net, { Socket: SimSocket });
  Object.assign(Server.prototype, { listen, address: () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 }) });
  return () => {
    Object.assign(net, { Socket });
    Object.assign(Server.prototype, { listen: listenReally, address });
  };
}
