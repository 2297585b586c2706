/**
 * Connections to workers that are kept for a second of silence: opening one for each request costs both sides more than a small request does. Only to
 * workers that were seen to keep theirs for longer, so that no request meets a door that is closing, and never more often than once.
 */
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import { Agent } from '../../core/runtime/node-http.ts';
import { LB_KEPT_MS } from '../../proto/wire/limits.ts';

/** Connections that are kept to one worker. */
const KEPT_MAX = 100;

/** A request's options, with a connection that is open already. */
type WithOpened = RequestOptions & { opened?: Duplex | undefined };

export class KeptConnections extends Agent {
  readonly #clock: Clock;
  /** Since when each is silent. */
  readonly #silentSinceMs = new WeakMap<Duplex, number>();
  /** What ends its silence. */
  readonly #taken = new WeakMap<Duplex, () => void>();

  constructor(clock: Clock) {
    // The first that fell silent comes first: so those that are used up stand in front, where Node skips them.
    super({ keepAlive: true, maxFreeSockets: KEPT_MAX, scheduling: 'fifo' });
    this.#clock = clock;
  }

  /** Whether one to this address may be used, at once: the next request to it takes it. */
  has(address: string): boolean {
    const { host, port } = hostPortOf(address);
    const now = this.#clock.monotonicMs();
    let found = false;
    for (const socket of this.freeSockets[this.getName({ host, port })] ?? []) {
      // Timers are late in a process that was busy for long.
      const isGood = !socket.destroyed && socket.writable && !socket.readableEnded && now - this.#silentSinceMs.get(socket)! <= LB_KEPT_MS;
      if (isGood) found = true;
      else socket.destroy();
    }
    return found;
  }

  /** Options of a request that takes one that is kept, or else `opened`, which is kept afterwards. */
  optionsFor(address: string, opened: Duplex | undefined): WithOpened {
    // Another one fell silent meanwhile: Node takes that one, and nobody would ever end this one.
    if (opened && this.has(address)) opened.destroy();
    return { agent: this, ...hostPortOf(address), opened };
  }

  override createConnection(options: WithOpened): Duplex {
    if (options.opened) return options.opened;
    throw new Error('no connection is kept to this address');
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // Not what the worker itself says that it ends.
    if (!(super.keepSocketAlive(socket) as unknown as boolean)) return false;
    this.#silentSinceMs.set(socket, this.#clock.monotonicMs());
    const timer = this.#clock.after(LB_KEPT_MS, () => socket.destroy());
    const taken = (): void => {
      timer.cancel();
      socket.off('close', taken);
    };
    socket.once('close', taken);
    this.#taken.set(socket, taken);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#taken.get(socket)?.();
    super.reuseSocket(socket, request);
  }
}

/** Parts of host:port as `connect` takes them. */
export function hostPortOf(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
