/** Monitors a reconcile transaction from outside: reports what it waits for, and aborts it. */
import type { Database } from '../sql/database.ts';

/**
 * Cause of a transaction's wait. `connection`: for a connection, or the response to its first statement. `lock`: others
 * hold a lock. `work`: the database executes a statement. `response`: the database has responded; the response was
 * lost, or this process is behind. `unknown`: the database did not say.
 */
export type TransactionWait = 'connection' | 'lock' | 'work' | 'response' | 'unknown';

/** A holder of the lock. */
interface LockHolder {
  pid: number;
  /** Name of the program, and its address. */
  name: string;
  address: string | null;
  /** As in pg_stat_activity. */
  state: string | null;
  /** Its last statement, at most 200 characters, without values. */
  statement: string;
  /** Age of its transaction, in seconds. */
  seconds: number | null;
}

/** Report about the wait of a transaction. */
export interface TransactionWaitReport {
  wait: TransactionWait;
  /** Empty if unknown. */
  statement: string;
  /** At most 5. */
  holders: readonly LockHolder[];
}

const HOLDERS_MAX = 5;
const STATEMENT_CHARACTERS_MAX = 200;

/** A reconcile was aborted. Nothing was written, unless the commit was already under way. */
export class ReconcileTimeoutError extends Error {
  constructor() {
    super('The reconcile timed out and was aborted; it is retried.');
    this.name = 'ReconcileTimeoutError';
  }
}

export class TransactionMonitor {
  readonly #database: Database;
  #pid: number | undefined;
  #aborted = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns by how much the limits of the database's answers have grown: 1 while it answers in time. */
  get slowness(): number {
    return this.#database.answers.limit.factor;
  }

  /**
   * Records the backend process of the transaction's connection. Throws ReconcileTimeoutError if the transaction was
   * aborted before.
   */
  started(pid: number): void {
    if (this.#aborted) throw new ReconcileTimeoutError();
    this.#pid = pid;
  }

  /** Returns what the transaction waits for. It asks the database through the small pool. */
  async currentWait(): Promise<TransactionWaitReport> {
    if (this.#pid === undefined) return { wait: 'connection', statement: '', holders: [] };
    const [row] = await this.#database.urgent.sql<
      (Omit<TransactionWaitReport, 'wait'> & { state: string | null; type: string | null })[]
    >`
      SELECT a.state, a.wait_event_type AS type, left(a.query, ${STATEMENT_CHARACTERS_MAX}::int) AS statement,
        coalesce((SELECT json_agg(h) FROM (
          SELECT b.pid, b.application_name AS name, host(b.client_addr) AS address, b.state,
            left(b.query, ${STATEMENT_CHARACTERS_MAX}::int) AS statement,
            extract(epoch FROM now() - b.xact_start)::int AS seconds
          FROM pg_stat_activity b WHERE b.pid = ANY(pg_blocking_pids(a.pid)) ORDER BY b.xact_start
            LIMIT ${HOLDERS_MAX}) AS h), '[]') AS holders
      FROM pg_stat_activity a WHERE a.pid = ${this.#pid}::int`;
    return { wait: waitOf(row), statement: row?.statement ?? '', holders: row?.holders ?? [] };
  }

  /** Cuts the connection. The server rolls back, at the latest at its lock timeout. */
  abort(): void {
    this.#aborted = true;
    const own = this.#database.connections().find(({ pid }) => pid() !== null && pid() === this.#pid);
    own?.socket.destroy();
  }
}

function waitOf(row: { state: string | null; type: string | null } | undefined): TransactionWait {
  if (!row) return 'response';
  if (row.state === null) return 'unknown';
  if (row.state !== 'active' || row.type === 'Client') return 'response';
  return row.type === 'Lock' ? 'lock' : 'work';
}
