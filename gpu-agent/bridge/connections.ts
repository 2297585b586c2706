/**
 * The connections of workers, in bounds: all of them share the files that this process may have open, its memory and
 * its one thread. Whose a connection is shows in its first request; until then it is nobody's. When there are too many,
 * whoever has the most loses his oldest.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@slipway/kit/log/logger';

/** More than a worker ever needs: it holds at most 1,000 jobs, and the Python SDK opens 100 connections at most. */
const OF_WORKER_MAX = 1_024;
/** In all, where the process may open as many files; else half of those. */
const ALL_MAX = 8_192;
const FILES_DEFAULT = 4_096;
/**
 * Requests of one connection that are not answered. No client of workers sends a second one before; the next may be
 * here before the end of an answer was noticed.
 */
const UNANSWERED_MAX = 2;
/** A worker has one link; that before it may not have ended yet. */
const LINKS_OF_WORKER_MAX = 2;
const NOBODY = '';

/** How many there may be. */
export interface ConnectionBounds {
  all: number;
  ofWorker: number;
}

/** The endpoint of a worker, for the log. */
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
  /** By owner, the oldest first. */
  readonly #byOwner = new Map<string, Set<Connection>>();
  readonly #links = new Map<string, Set<Socket>>();
  #size = 0;
  /** Who was told of; each is once. */
  readonly #told = new Set<string>();

  /** `bounds`: default what the process may have. */
  constructor(
    logger: Logger,
    endpointOf: EndpointOf,
    bounds: ConnectionBounds = { all: Math.min(ALL_MAX, Math.floor(openFilesMax() / 2)), ofWorker: OF_WORKER_MAX },
  ) {
    this.#logger = logger;
    this.#endpointOf = endpointOf;
    this.#bounds = bounds;
  }

  /** Connections that are open. */
  get size(): number {
    return this.#size;
  }

  /** Somebody has connected. */
  add(socket: Socket): void {
    const connection = { socket, owner: NOBODY, unanswered: 0 };
    this.#of.set(socket, connection);
    this.#size += 1;
    this.#put(connection, NOBODY);
    socket.once('close', () => {
      this.#size -= 1;
      this.#take(connection);
    });
    if (this.#size > this.#bounds.all) this.#cutOldest(this.#greediest());
  }

  /** A request on it has proven whose it is. */
  own(socket: Socket, workerId: string): void {
    const connection = this.#of.get(socket);
    if (!connection || socket.destroyed || connection.owner === workerId) return;
    this.#take(connection);
    this.#put(connection, workerId);
    if (this.#byOwner.get(workerId)!.size > this.#bounds.ofWorker) this.#cutOldest(workerId);
  }

  /** It has become a worker's link. */
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

  /** A request has come. False: its client sends requests without waiting for answers, and is cut. */
  admits({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#of.get(socket);
    if (!connection) return true;
    if (socket.destroyed) return false;
    if (connection.unanswered >= UNANSWERED_MAX) {
      this.#tell(connection.owner, 'sends requests without waiting for answers');
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

  #greediest(): string {
    let greediest = NOBODY;
    let most = 0;
    for (const [owner, { size }] of this.#byOwner) {
      if (size <= most) continue;
      greediest = owner;
      most = size;
    }
    return greediest;
  }

  #cutOldest(owner: string): void {
    const oldest = this.#byOwner.get(owner)?.values().next().value;
    if (!oldest) return;
    this.#tell(owner, 'has too many connections');
    // Its close comes later: until then it must not be met again.
    this.#take(oldest);
    oldest.socket.destroy();
  }

  #tell(owner: string, what: string): void {
    const mark = `${owner} ${what}`;
    if (this.#told.has(mark)) return;
    // More workers than live at a time: then it is said again.
    if (this.#told.size >= OF_WORKER_MAX) this.#told.clear();
    this.#told.add(mark);
    const workerId = owner === NOBODY ? undefined : owner;
    this.#logger.warn(
      { endpointId: this.#endpointOf(owner), workerId },
      `a client of the bridge ${what}: its connections are cut`,
    );
  }
}

/** Files that this process may have open. Node itself has raised it as far as it may. */
function openFilesMax(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return FILES_DEFAULT;
  }
}
