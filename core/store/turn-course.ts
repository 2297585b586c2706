/** A transaction that takes turns, seen from outside of it: what it waits for just now, and its end where it comes to none. */
import type { Database } from './database.ts';

/**
 * What a transaction waits for. `connection`: for one of ours, or an answer to its first statement; `lock`: others hold one that it wants; `work`: the database
 * does it; `answer`: the database has answered, and either that was lost on its way or this process has not gone on yet; `unknown`: the database did not say.
 */
export type TurnWait = 'connection' | 'lock' | 'work' | 'answer' | 'unknown';

/** Who holds what it waits for. */
export interface LockHolder {
  pid: number;
  /** Which program it is, and from which address. */
  name: string;
  address: string | null;
  /** As pg_stat_activity has it. */
  state: string | null;
  /** Its last statement, at most 200 characters, without values. */
  statement: string;
  /** For how long its transaction has lasted, in seconds. */
  seconds: number | null;
}

/** What is told of it. */
export interface TurnWaiting {
  wait: TurnWait;
  /** Empty: not known. */
  statement: string;
  /** At most 5. */
  holders: readonly LockHolder[];
}

const HOLDERS_MAX = 5;
const STATEMENT_CHARACTERS_MAX = 200;

/** Turns were given up before they had ended: nothing of them was done, unless they were about to end. */
export class TurnsGivenUpError extends Error {
  constructor() {
    super('Turns of scaling did not end and are given up; they are taken again.');
    this.name = 'TurnsGivenUpError';
  }
}

export class TurnCourse {
  readonly #database: Database;
  #pid: number | undefined;
  #givenUp = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The server's process of its connection. TurnsGivenUpError: it was given up before it had one, and must not go on. */
  begun(pid: number): void {
    if (this.#givenUp) throw new TurnsGivenUpError();
    this.#pid = pid;
  }

  /** Asks the database, by the small pool. */
  async waiting(): Promise<TurnWaiting> {
    if (this.#pid === undefined) return { wait: 'connection', statement: '', holders: [] };
    const [row] = await this.#database.urgent.sql<(Omit<TurnWaiting, 'wait'> & { state: string | null; type: string | null })[]>`
      SELECT a.state, a.wait_event_type AS type, left(a.query, ${STATEMENT_CHARACTERS_MAX}::int) AS statement,
        coalesce((SELECT json_agg(h) FROM (
          SELECT b.pid, b.application_name AS name, host(b.client_addr) AS address, b.state, left(b.query, ${STATEMENT_CHARACTERS_MAX}::int) AS statement,
            extract(epoch FROM now() - b.xact_start)::int AS seconds
          FROM pg_stat_activity b WHERE b.pid = ANY(pg_blocking_pids(a.pid)) ORDER BY b.xact_start LIMIT ${HOLDERS_MAX}) AS h), '[]') AS holders
      FROM pg_stat_activity a WHERE a.pid = ${this.#pid}::int`;
    return { wait: waitOf(row), statement: row?.statement ?? '', holders: row?.holders ?? [] };
  }

  /** Cuts its connection: the server undoes what it did, at the latest when the lock that it waits for there is refused to it. */
  giveUp(): void {
    this.#givenUp = true;
    const own = this.#database.connections().find(({ pid }) => pid() !== null && pid() === this.#pid);
    own?.socket.destroy();
  }
}

function waitOf(row: { state: string | null; type: string | null } | undefined): TurnWait {
  if (!row) return 'answer';
  if (row.state === null) return 'unknown';
  if (row.state !== 'active' || row.type === 'Client') return 'answer';
  return row.type === 'Lock' ? 'lock' : 'work';
}
