/** The hosts of a database URL, and which of them new connections try. */
import type { Socket } from 'node:net';
import postgres from 'postgres';

type Client = postgres.Sql<{ bigint: number }>;

/** One host of a URL. */
export interface DatabaseHost {
  readonly name: string;
  readonly port: number;
  /** URL of this host alone. */
  readonly url: string;
}

/** The driver names the host on the sockets that it opens. */
type NamedSocket = Socket & { host?: string; port?: number };

const URL_PARTS = /^([a-z]+:\/\/(?:[^/?]*@)?)[^/?]*(.*)$/;

/** Returns the hosts that a URL names, separated by commas. */
export function hostsOf(url: string): DatabaseHost[] {
  // The driver reads the list: a host without a port has that of the first one, or of the environment.
  const { host, port } = postgres(url, { max: 1 }).options;
  const [, before = '', after = ''] = URL_PARTS.exec(url) ?? [];
  // The driver's own check of a single host would end a connection to a standby.
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, '$1').replace(/[?&]$/, '');
  return host.map((name, at) => ({ name, port: port[at]!, url: `${before}${name}:${port[at]}${rest}` }));
}

/** Returns whether a URL asks for the primary, wherever it is. */
export function asksForPrimary(url: string): boolean {
  return /[?&]target_session_attrs=(primary|read-write)(&|$)/.test(url);
}

/** The lists of hosts of all clients of one database. */
export class DatabaseHosts {
  readonly all: readonly DatabaseHost[];
  readonly #clients = new Map<Client, { name: string[]; port: number[] }>();

  constructor(url: string) {
    this.all = hostsOf(url);
  }

  /** Adds a client. */
  add(client: Client): void {
    const { host, port } = client.options;
    this.#clients.set(client, { name: [...host], port: [...port] });
  }

  /** Returns the clients. */
  get clients(): Client[] {
    return [...this.#clients.keys()];
  }

  /** Lets new connections try this host alone. `undefined`: all, in the order of the URL. */
  prefer(only: DatabaseHost | undefined): void {
    // In place: the driver's connections share the two lists.
    for (const [{ options }, { name, port }] of this.#clients) {
      options.host.splice(0, Infinity, ...(only ? name.map(() => only.name) : name));
      options.port.splice(0, Infinity, ...(only ? port.map(() => only.port) : port));
    }
  }

  /** Returns whether a socket leads to another host. With one host in the URL its name may have been re-pointed. */
  isElsewhere(socket: NamedSocket, { name, port }: DatabaseHost): boolean {
    return this.all.length === 1 || socket.host !== name || socket.port !== port;
  }
}
