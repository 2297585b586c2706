/**
 * Pools idle connections to workers for one second: opening a connection costs both sides more than a small request.
 * Only for workers that keep idle connections for longer, so that no request is sent on a connection that the worker is
 * closing.
 */
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { Agent } from '@slipway/kit/net/node-http';
import type { Clock } from '@slipway/kit/time/clock';
import { LB_KEPT_MS } from '@slipway/proto/wire/limits';

/** Most idle connections to one worker. */
const FREE_SOCKETS_MAX = 100;

/** Request options with an open connection. */
type WithOpened = RequestOptions & { opened?: Duplex | undefined };

export class ConnectionPool extends Agent {
  readonly #clock: Clock;
  /** Time since which a connection is idle. */
  readonly #idleSinceMs = new WeakMap<Duplex, number>();
  /** Cancels the idle timer of a connection. */
  readonly #stopTimer = new WeakMap<Duplex, () => void>();

  constructor(clock: Clock) {
    // The longest idle first, so that expired connections are in front, where Node skips them.
    super({ keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX, scheduling: 'fifo' });
    this.#clock = clock;
  }

  /** Returns whether an idle connection to this address is usable. The next request must be made in the same tick. */
  has(address: string): boolean {
    const { host, port } = hostPortOf(address);
    const now = this.#clock.monotonicMs();
    let found = false;
    for (const socket of this.freeSockets[this.getName({ host, port })] ?? []) {
      // Timers fire late in a busy process.
      const isGood =
        !socket.destroyed &&
        socket.writable &&
        !socket.readableEnded &&
        now - this.#idleSinceMs.get(socket)! <= LB_KEPT_MS;
      if (isGood) found = true;
      else socket.destroy();
    }
    return found;
  }

  /** Returns request options that reuse an idle connection, or else use `opened` and pool it afterwards. */
  optionsFor(address: string, opened: Duplex | undefined): WithOpened {
    // Another connection became idle first: Node uses that one, and this one would never be closed.
    if (opened && this.has(address)) opened.destroy();
    return { agent: this, ...hostPortOf(address), opened };
  }

  override createConnection(options: WithOpened): Duplex {
    if (options.opened) return options.opened;
    throw new Error('the pool has no connection to this address');
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // The worker may have asked to close it.
    if (!(super.keepSocketAlive(socket) as unknown as boolean)) return false;
    this.#idleSinceMs.set(socket, this.#clock.monotonicMs());
    const timer = this.#clock.after(LB_KEPT_MS, () => socket.destroy());
    const stopTimer = (): void => {
      timer.cancel();
      socket.off('close', stopTimer);
    };
    socket.once('close', stopTimer);
    this.#stopTimer.set(socket, stopTimer);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#stopTimer.get(socket)?.();
    super.reuseSocket(socket, request);
  }
}

/** Splits host:port for `connect`. */
export function hostPortOf(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
