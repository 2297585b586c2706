/**
 * Connections to PostgreSQL. Three pools: `sql` for everything; `hot` for the statements of the job engine, whose plans
 * must never depend on statistics: a plan made while the job table was empty would scan a million rows until the next
 * analyze; `urgent` for leases and for who may do what, which must not wait behind the calls of one busy account.
 */
import type { Socket } from 'node:net';
import { drizzle, sql as drizzleSql } from '@slipway/drizzle/orm';
import type { Logger } from '@slipway/kit/log/logger';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { DatabaseHosts } from './database-hosts.ts';
import type { PasswordReader } from './database-password.ts';
import { passwordReader } from './database-password.ts';
import type { ServerAnswersOptions } from './server-answers.ts';
import { ServerAnswers } from './server-answers.ts';

/** bigint columns arrive as numbers: none of ours passes 2^53. */
const TYPES = { bigint: { to: 20, from: [20], parse: Number, serialize: String } };

/**
 * Types with arrays that statements name or answer, each with that of its arrays. PostgreSQL's own never change: the
 * driver, which does not know them, would ask for them on each connection.
 */
const ARRAY_TYPES = [
  /* bool */ [16, 1000],
  /* bytea */ [17, 1001],
  /* name */ [19, 1003],
  /* bigint */ [20, 1016],
  /* smallint */ [21, 1005],
  /* integer */ [23, 1007],
  /* text */ [25, 1009],
  /* oid */ [26, 1028],
  /* json */ [114, 199],
  /* real */ [700, 1021],
  /* double precision */ [701, 1022],
  /* varchar */ [1043, 1015],
  /* date */ [1082, 1182],
  /* timestamp */ [1114, 1115],
  /* timestamptz */ [1184, 1185],
  /* interval */ [1186, 1187],
  /* numeric */ [1700, 1231],
  /* uuid */ [2950, 2951],
  /* jsonb */ [3802, 3807],
];

/** A postgres.js client. Because drizzle shares the general one, instants arrive as text on it: convert them in SQL. */
export type Sql = postgres.Sql<{ bigint: number }>;

/** A fragment of a statement. */
export type Fragment = postgres.Fragment;

/**
 * Caches a fragment per client: building it for each statement was a considerable part of this process's cost of a
 * statement.
 */
export function samePart(make: (sql: Sql) => Fragment): (sql: Sql) => Fragment {
  const made = new WeakMap<Sql, Fragment>();
  return (sql) => {
    const known = made.get(sql);
    if (known) return known;
    const part = make(sql);
    made.set(sql, part);
    return part;
  };
}

/**
 * Runs one statement, inside or outside of a transaction. A postgres.js client is one; `statementOf` makes one of a
 * drizzle transaction, so that plain SQL can be part of it.
 */
export type Statement = <Rows extends object[]>(
  template: TemplateStringsArray,
  ...parameters: (string | number)[]
) => PromiseLike<Rows>;

/** Returns a Statement that runs on `tx`. */
export function statementOf(tx: Pick<Database['db'], 'execute'>): Statement {
  return async <Rows extends object[]>(template: TemplateStringsArray, ...parameters: (string | number)[]) =>
    (await tx.execute(drizzleSql(template, ...parameters))) as unknown as Rows;
}

/** A transaction of `db`. A function that takes one is part of its caller's transaction. */
export type Transaction = Parameters<Parameters<Database['db']['transaction']>[0]>[0];

/** Runs statements in one transaction: all of them happen, or none. */
export async function inTransaction<Result>(sql: Sql, work: (tx: Sql) => Promise<Result>): Promise<Result> {
  // The type of a postgres.js transaction differs from a client's only in methods that are not used here.
  return (await sql.begin((tx) => work(tx as unknown as Sql))) as Result;
}

/** Names of the general pool's connections, of a replica with one secret key and of one with two. */
export const ONE_KEY_NAME = 'slipway-core';
const TWO_KEYS_NAME = 'slipway-core-two-keys';

/** Connection settings. */
export interface DatabaseOptions extends ServerAnswersOptions {
  logger: Logger;
  /** The replica has two secret keys. Others see it by the name of its connections. Default: false. */
  hasTwoKeys?: boolean;
  /** File of the URL, read again for the password of each new connection. Empty: there is none. */
  databaseUrlFile?: string;
  /** Connections of the general pool. Default 8. */
  connectionsMax?: number;
  /** Connections of the hot pool. Default 8. */
  hotConnectionsMax?: number;
}

/** An open database. */
export interface Database {
  readonly url: string;
  /** General pool, raw. */
  readonly sql: Sql;
  /**
   * Pool of the job engine: index plans only, planned once. Never join two row sets on it without an index on one of
   * them.
   */
  readonly hot: Sql;
  /** General pool through drizzle. */
  readonly db: PostgresJsDatabase;
  /** Small pool for short statements that everything else waits for. */
  readonly urgent: Pick<Database, 'sql' | 'db'>;
  /** Measures how fast the server answers, on these connections and on all that are opened with it. */
  readonly answers: ServerAnswers;
  /** The hosts of the URL, with all clients that were opened with it. */
  readonly hosts: DatabaseHosts;
  /** Returns the password for a new connection. `undefined`: that of the URL. */
  readonly password: PasswordReader | undefined;
  /** Cuts all connections (`cutAll`). */
  cut(): void;
  /** Returns the connections of all pools that are open now. */
  connections(): OpenConnection[];
  /** Ends all connections after the statements in flight, at the latest after 5 s. */
  close(): Promise<void>;
}

/**
 * Plan settings of the hot pool. Without sorting, ordered results come from the index with that order. Without
 * materializing, a join never compares a whole table with every row of the other side.
 */
export const HOT_SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_material: 'off',
  plan_cache_mode: 'force_generic_plan',
};

/** Idle time in seconds after which a connection is closed. Each is a process of the server with its own memory. */
const IDLE_SECONDS_MAX = 60;
const CLOSE_SECONDS_MAX = 5;
/**
 * Idle time in milliseconds after which the server ends a transaction and releases its locks: its replica hangs or is
 * unreachable. Otherwise all others would wait for the placement lock until the server's system drops the connection,
 * after two hours.
 */
const SILENT_TRANSACTION_MS_MAX = 20_000;
/**
 * Wait for a lock in milliseconds after which a statement fails and may be retried. Core itself holds locks only
 * briefly, the placement lock for as long as earlier reconciles take. A longer wait has a cause that does not end by
 * itself, for instance an operator's open transaction.
 */
const LOCK_MS_MAX = 30_000;
const LOCKS = { lock_timeout: String(LOCK_MS_MAX) };
const URGENT_CONNECTIONS = 2;

/** Throws unless the driver is patched: in the published driver one lost connection would end the process. */
function checkPatched(): void {
  if (!('survivesCuts' in postgres))
    throw new Error('The package postgres is not patched (deploy/patches). Run: npm run prepare');
}

/** A connection as the driver reports it. */
export interface OpenConnection {
  readonly socket: Socket;
  /** Returns whether a statement is queued or waits for its result. */
  waits(): boolean;
  /** Returns the process id of the server. Null: not known yet. */
  pid(): number | null;
}

/** Connections of each client, some of which may have ended. */
const CONNECTIONS = new WeakMap<Sql, Map<Socket, OpenConnection>>();

/** Listeners by client that receive each statement's wait for a connection, in milliseconds. */
const POOL_WAIT_LISTENERS = new WeakMap<Sql, { onWait: (waitedMs: number) => void }>();

interface ConnectOptions {
  /** Shared by all clients of one server. Default: this client's own. */
  answers?: ServerAnswers;
  /** Returns the password for a new connection. Default: that of the URL. */
  password?: PasswordReader | undefined;
  /** Gets to know the client. */
  hosts?: DatabaseHosts | undefined;
  /** Called with each notification. Its connection is never closed for being idle. */
  onnotify?: (channel: string, payload: string) => void;
}

/** Creates a client. `name` identifies its connections in pg_stat_activity. */
export function connect(
  url: string,
  name: string,
  max: number,
  logger: Logger,
  settings: Record<string, string> = {},
  { answers = new ServerAnswers(), password, hosts, onnotify }: ConnectOptions = {},
): Sql {
  checkPatched();
  const connections = new Map<Socket, OpenConnection>();
  const onsocket = (socket: Socket, state: Omit<OpenConnection, 'socket'>): void => {
    for (const known of connections.keys()) if (known.destroyed) connections.delete(known);
    connections.set(socket, { socket, ...state });
    answers.add(socket);
  };
  const listener = { onWait: (_waitedMs: number): void => {} };
  const sql = postgres(url, {
    // Known to the driver though not to its types: its own listen() would not listen again when a reconnection fails
    // once.
    ...(onnotify && { onnotify }),
    ...(password && { password }),
    ...{ onsocket, array_types: ARRAY_TYPES, onturn: (waitedMs: number) => listener.onWait(waitedMs) },
    max,
    types: TYPES,
    fetch_types: false,
    connect_timeout: answers.connectSeconds,
    max_lifetime: null,
    // A listening connection must stay: it would miss notifications, and its locks would be released.
    ...(onnotify ? {} : { idle_timeout: IDLE_SECONDS_MAX }),
    backoff: (failures: number) => answers.reconnectSeconds(failures),
    connection: {
      application_name: name,
      jit: 'off',
      idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS_MAX,
      ...settings,
    } as Partial<postgres.ConnectionParameters>,
    onnotice: (notice) => logger.debug({ notice: notice['message'] }, 'database notice'),
  }) as unknown as Sql;
  CONNECTIONS.set(sql, connections);
  POOL_WAIT_LISTENERS.set(sql, listener);
  hosts?.add(sql);
  return sql;
}

/**
 * Calls a listener with each statement's wait, in milliseconds, until no other statement was before it on a
 * connection. Statements inside of transactions are left out.
 */
export function onPoolWait(sql: Sql, onWait: (waitedMs: number) => void): void {
  POOL_WAIT_LISTENERS.get(sql)!.onWait = onWait;
}

/**
 * Closes a client's connections at once. Waiting statements fail as on any lost connection, and the next statement
 * opens new connections.
 */
export function cutAll(sql: Sql): void {
  for (const socket of CONNECTIONS.get(sql)!.keys()) socket.destroy();
}

/**
 * Resumes a client's connections after the rows of a COPY were read. The driver pauses a connection whose rows are
 * read slowly, and forgets that when the last row has come.
 */
export function resumeAll(sql: Sql): void {
  for (const socket of CONNECTIONS.get(sql)!.keys()) socket.resume();
}

/** Returns the connections of a client that are open now. */
export function openConnections(sql: Sql): OpenConnection[] {
  return [...CONNECTIONS.get(sql)!.values()].filter(({ socket }) => !socket.destroyed);
}

/**
 * Opens the database at a postgres:// URL. Connects on first use, so the first statement fails if the database is down.
 */
export function openDatabase(url: string, options: DatabaseOptions): Database {
  const hosts = new DatabaseHosts(url);
  const answers = new ServerAnswers({ ...options, hosts: hosts.all.length });
  const shared = { answers, hosts, password: passwordReader(options.databaseUrlFile ?? '', url) };
  const { logger, connectionsMax = 8, hotConnectionsMax = 8 } = options;
  const sql = connect(url, options.hasTwoKeys ? TWO_KEYS_NAME : ONE_KEY_NAME, connectionsMax, logger, LOCKS, shared);
  const hotSettings = { ...HOT_SETTINGS, ...LOCKS };
  const hot = connect(url, 'slipway-core-hot', hotConnectionsMax, logger, hotSettings, shared);
  const urgent = connect(url, 'slipway-core-urgent', URGENT_CONNECTIONS, logger, LOCKS, shared);
  return {
    url,
    sql,
    hot,
    db: drizzle(sql),
    urgent: { sql: urgent, db: drizzle(urgent) },
    ...shared,
    cut: () => [sql, hot, urgent].forEach(cutAll),
    connections: () => [sql, hot, urgent].flatMap(openConnections),
    async close() {
      await Promise.all([sql, hot, urgent].map((pool) => pool.end({ timeout: CLOSE_SECONDS_MAX })));
    },
  };
}
