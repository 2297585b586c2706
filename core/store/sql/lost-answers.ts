/**
 * Finds connections whose responses are lost because something between here and the database dropped them silently,
 * and cuts them. The system notices after a quarter of an hour, and never if a proxy keeps its end open. Until then
 * reconciles, claims and outcomes hang. As statements may take long, the database is asked over another connection
 * whether it works on them.
 */
import type { Socket } from 'node:net';
import type { OpenConnection, Sql } from './database.ts';
import { numberArray } from './pack.ts';

interface Silence {
  bytesRead: number;
  /**
   * True if the database did not work on the waiting statement. Its response may have been in flight: it is lost only
   * if it has not arrived by the next check.
   */
  answered: boolean;
}

export class LostAnswers {
  readonly #connections: () => readonly OpenConnection[];
  /** Connections on which something waited at the last check. */
  #waiting = new Map<Socket, Silence>();

  constructor(connections: () => readonly OpenConnection[]) {
    this.#connections = connections;
  }

  /**
   * Cuts connections that were silent in three consecutive checks, and returns how many. Call it every few seconds;
   * `sql` must not be one of the checked clients. A connection that still sends is left alone.
   */
  async check(sql: Sql): Promise<number> {
    const before = this.#waiting;
    const waiting = this.#connections().filter(
      ({ socket, waits, pid }) => waits() && pid() !== null && socket.writableLength === 0,
    );
    this.#waiting = new Map(waiting.map(({ socket }) => [socket, { bytesRead: socket.bytesRead, answered: false }]));
    const silent = waiting.filter((one) => this.#isSilent(one, before));
    if (silent.length === 0) return 0;
    const working = await workingOf(
      sql,
      silent.map(({ pid }) => pid()!),
    );
    const lost = silent.filter((one) => !working.has(one.pid()!) && this.#isSilent(one, before));
    for (const { socket } of lost) this.#waiting.get(socket)!.answered = true;
    const cut = lost.filter(({ socket }) => before.get(socket)!.answered);
    for (const { socket } of cut) socket.destroy();
    return cut.length;
  }

  /** Returns whether a statement waits and nothing was received since the previous check. */
  #isSilent({ socket, waits }: OpenConnection, before: ReadonlyMap<Socket, Silence>): boolean {
    return waits() && before.get(socket)?.bytesRead === socket.bytesRead;
  }
}

/**
 * Returns the processes that execute a statement or wait for a lock, not processes that wait for their client or have
 * ended.
 */
async function workingOf(sql: Sql, pids: readonly number[]): Promise<Set<number>> {
  const rows = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(${numberArray(pids)}::int[]) AND coalesce(state, '') NOT LIKE 'idle%'
      AND coalesce(wait_event_type, '') <> 'Client'`;
  return new Set(rows.map(({ pid }) => pid));
}
