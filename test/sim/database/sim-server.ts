/**
 * The PostgreSQL of simulations: a real one, without what would act by the real clock, and a template whose now() and
 * clock_timestamp() are shadowed by functions that read virtual time from settings of the connection.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { migrate } from '@slipway/core/store/sql/migrate';
import { createLogger } from '@slipway/kit/log/logger';
import { copyOf, urlOf } from '../../helpers/db/template-database.ts';
import { QUICK, startPostgres } from '../../helpers/db/throwaway-postgres.ts';
import { BEGIN_MS } from '../world/world.ts';
import { queryMessage, readyState, ServerMessages, startupWith } from './pg-wire.ts';

const TEMPLATE = 'sim_template';
/**
 * A deadlock is looked for as soon as a statement waits, so the last one that came is the victim, whatever the real
 * time. Nothing vacuums or analyzes in between.
 */
const SETTINGS = {
  autovacuum: 'off',
  deadlock_timeout: '1ms',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  shared_buffers: '64MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  jit: 'off',
};
const SHADOW = `
  CREATE SCHEMA sim;
  CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT to_timestamp(current_setting('sim.now')::float8) $$;
  CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $$ SELECT to_timestamp(current_setting('sim.clock')::float8) $$;
  CREATE FUNCTION sim.pg_backend_pid() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('sim.pid')::int $$;`;

/** Settings with which a connection sees virtual time. */
export const VIRTUAL = {
  search_path: 'public,sim,pg_catalog',
  'sim.now': String(BEGIN_MS / 1_000),
  'sim.clock': String(BEGIN_MS / 1_000),
  'sim.pid': '1',
};

/** A connection of the simulator's own, in real time. */
export class PlainConnection {
  readonly #messages = new ServerMessages();
  readonly #socket;
  #rows: string[][] = [];
  #over: PromiseWithResolvers<string[][]> | undefined;
  #error: string | undefined;

  private constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on('data', (bytes: Buffer) => {
      for (const message of this.#messages.add(bytes)) this.#read(message);
    });
    this.#socket.on('error', () => undefined);
  }

  static async open(path: string, database: string): Promise<PlainConnection> {
    const connection = new PlainConnection(path);
    await once(connection.#socket, 'connect');
    await connection.#ask(startupWith(Buffer.alloc(10), { user: 'slipway', database, ...VIRTUAL }));
    return connection;
  }

  /** Runs statements without parameters. Returns the rows as texts. */
  query(sql: string): Promise<string[][]> {
    return this.#ask(queryMessage(sql));
  }

  close(): void {
    this.#socket.destroy();
  }

  #ask(bytes: Buffer): Promise<string[][]> {
    this.#over = Promise.withResolvers();
    this.#rows = [];
    this.#error = undefined;
    this.#socket.write(bytes);
    return this.#over.promise;
  }

  #read(message: Buffer): void {
    const type = String.fromCharCode(message[0]!);
    if (type === 'D') this.#rows.push(cellsOf(message));
    if (type === 'E') this.#error = message.toString('utf8', 5).replaceAll('\0', ' ');
    if (readyState(message) === undefined) return;
    if (this.#error === undefined) this.#over?.resolve(this.#rows);
    else this.#over?.reject(new Error(this.#error));
  }
}

function cellsOf(row: Buffer): string[] {
  const cells: string[] = [];
  for (let at = 7; at < row.length; ) {
    const length = row.readInt32BE(at);
    cells.push(length < 0 ? '' : row.toString('utf8', at + 4, at + 4 + length));
    at += 4 + Math.max(0, length);
  }
  return cells;
}

export type SimServer = Awaited<ReturnType<typeof startSimServer>>;

/** Starts the server and makes the template. The caller must call `remove`. */
export async function startSimServer() {
  const server = await startPostgres([...QUICK, '--auth=trust'], {
    ...SETTINGS,
    // Relative to the data folder.
    unix_socket_directories: '.',
  });
  const url = new URL(server.url());
  const path = join(server.folder, 'postgres', `.s.PGSQL.${url.port}`);
  const admin = await PlainConnection.open(path, 'postgres');
  await admin.query(`CREATE DATABASE ${TEMPLATE}`);
  const made = await PlainConnection.open(path, TEMPLATE);
  await made.query(SHADOW);
  made.close();
  const template = new URL(urlOf(url.href, TEMPLATE));
  for (const [name, value] of Object.entries(VIRTUAL)) template.searchParams.set(name, value);
  await migrate({ url: template.href }, createLogger('sim', 'silent'));
  return {
    path,
    /** Makes a database, and a connection of the simulator to it. */
    createDatabase: async (name: string): Promise<PlainConnection> => {
      await admin.query(copyOf(TEMPLATE, name));
      return PlainConnection.open(path, name);
    },
    dropDatabase: (name: string): Promise<unknown> => admin.query(`DROP DATABASE ${name} WITH (FORCE)`),
    remove: async (): Promise<void> => {
      admin.close();
      await server.remove();
    },
  };
}
