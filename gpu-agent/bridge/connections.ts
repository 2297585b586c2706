/**
 * Bounds the connections of workers: all of them share this process's open files, memory and single thread. The first
 * request of a connection shows its owner; until then it has none. When there are too many, the owner with the most
 * connections loses its oldest.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@slipway/kit/log/logger';

/**
 * Most connections of one worker. More than it ever needs: it holds at most 1,000 jobs, and the Python SDK opens at
 * most 100 connections.
 */
const OF_WORKER_MAX = 1_024;
/** Most connections in total, if the process may open at least twice as many files; otherwise half of the files. */
const ALL_MAX = 8_192;
const FILES_DEFAULT = 4_096;
/**
 * Most unanswered requests of one connection. No client of workers sends a second request before the answer; but the
 * next one may arrive before the end of an answer was noticed.
 */
const UNANSWERED_MAX = 2;
/** Most links of one worker. It has one; the previous one may not have ended yet. */
const LINKS_OF_WORKER_MAX = 2;
const NOBODY = '';

/** Bounds on the number of connections. */
export interface ConnectionBounds {
  all: number;
  ofWorker: number;
}

/** Returns the endpoint of a worker, for the log. */
type EndpointOf = (workerId: string) => string | undefined;

interface Connection {
  socket: Socket;
  owner: string;
  unanswered: number;
}

export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #logger: Logger;
  readonly #endpointOf: EndpointOf;
  readonly #of = new WeakMap<Socket, Connection>();
  /** Connections by owner, the oldest first. */
  readonly #byOwner = new Map<string, Set<Connection>>();
  readonly #links = new Map<string, Set<Socket>>();
  #size = 0;
  /** Warnings that were logged. Each is logged once. */
  readonly #warned = new Set<string>();

  /** `bounds`: default as many as the process may have. */
  constructor(
    logger: Logger,
    endpointOf: EndpointOf,
    bounds: ConnectionBounds = { all: Math.min(ALL_MAX, Math.floor(openFilesMax() / 2)), ofWorker: OF_WORKER_MAX },
  ) {
    this.#logger = logger;
    this.#endpointOf = endpointOf;
    this.#bounds = bounds;
  }

  /** Number of open connections. */
  get size(): number {
    return this.#size;
  }

  /** Adds a new connection. */
  add(socket: Socket): void {
    const connection = { socket, owner: NOBODY, unanswered: 0 };
    this.#of.set(socket, connection);
    this.#size += 1;
    this.#put(connection, NOBODY);
    socket.once('close', () => {
      this.#size -= 1;
      this.#take(connection);
    });
    if (this.#size > this.#bounds.all) this.#cutOldest(this.#largestOwner());
  }

  /** Assigns the connection to the worker that a request on it has authenticated. */
  own(socket: Socket, workerId: string): void {
    const connection = this.#of.get(socket);
    if (!connection || socket.destroyed || connection.owner === workerId) return;
    this.#take(connection);
    this.#put(connection, workerId);
    if (this.#byOwner.get(workerId)!.size > this.#bounds.ofWorker) this.#cutOldest(workerId);
  }

  /** Records that the connection has become a worker's link. */
  link(socket: Socket, workerId: string): void {
    this.own(socket, workerId);
    const links = this.#links.get(workerId) ?? new Set();
    this.#links.set(workerId, links);
    links.add(socket);
    socket.once('close', () => {
      links.delete(socket);
      if (links.size === 0) this.#links.delete(workerId);
    });
    if (links.size > LINKS_OF_WORKER_MAX) links.values().next().value!.destroy();
  }

  /**
   * Counts a request. Returns false if its client sends requests without waiting for answers; the connection is then
   * cut.
   */
  admits({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#of.get(socket);
    if (!connection) return true;
    if (socket.destroyed) return false;
    if (connection.unanswered >= UNANSWERED_MAX) {
      this.#warn(connection.owner, 'sends requests without waiting for answers');
      socket.destroy();
      return false;
    }
    connection.unanswered += 1;
    response.once('close', () => {
      connection.unanswered -= 1;
    });
    return true;
  }

  #put(connection: Connection, owner: string): void {
    connection.owner = owner;
    const own = this.#byOwner.get(owner);
    if (own) own.add(connection);
    else this.#byOwner.set(owner, new Set([connection]));
  }

  #take(connection: Connection): void {
    const own = this.#byOwner.get(connection.owner);
    own?.delete(connection);
    if (own?.size === 0) this.#byOwner.delete(connection.owner);
  }

  #largestOwner(): string {
    let largest = NOBODY;
    let most = 0;
    for (const [owner, { size }] of this.#byOwner) {
      if (size <= most) continue;
      largest = owner;
      most = size;
    }
    return largest;
  }

  #cutOldest(owner: string): void {
    const oldest = this.#byOwner.get(owner)?.values().next().value;
    if (!oldest) return;
    this.#warn(owner, 'has too many connections');
    // Its close event comes later. Until then it must not be found again.
    this.#take(oldest);
    oldest.socket.destroy();
  }

  #warn(owner: string, what: string): void {
    const mark = `${owner} ${what}`;
    if (this.#warned.has(mark)) return;
    // More warnings than workers live at a time: they may be logged again.
    if (this.#warned.size >= OF_WORKER_MAX) this.#warned.clear();
    this.#warned.add(mark);
    const workerId = owner === NOBODY ? undefined : owner;
    this.#logger.warn(
      { endpointId: this.#endpointOf(owner), workerId },
      `a client of the bridge ${what}: its connections are closed`,
    );
  }
}

/** Returns how many files this process may have open. Node has already raised the limit as far as it may. */
function openFilesMax(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return FILES_DEFAULT;
  }
}
