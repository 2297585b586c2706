/**
 * Finds connections over which no answer comes any more, because something between here and the database has forgotten
 * them without a word, and cuts them. The system finds out after a quarter of an hour, and never while a proxy holds
 * its end; until then whatever waits for the answer stands still: turns of scaling, claims, outcomes. Statements may
 * take long, so the database is asked, over another connection, whether it works on them.
 */
import type { Socket } from 'node:net';
import type { OpenConnection, Sql } from './database.ts';
import { numberArray } from './pack.ts';

interface Silence {
  bytesRead: number;
  /**
   * The database did not work on what waits. Its answer may have been on its way: only when it has not come until the
   * next check is it lost.
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
   * To be called every few seconds; `sql` is none of the clients that are looked at. Cuts connections that were silent
   * at three checks in a row, and answers how many. What is still on its way to the database is left alone.
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

  /** Something waits, and nothing was heard since the check before. */
  #isSilent({ socket, waits }: OpenConnection, before: ReadonlyMap<Socket, Silence>): boolean {
    return waits() && before.get(socket)?.bytesRead === socket.bytesRead;
  }
}

/**
 * Those of these processes that work on a statement, or wait for a lock. One that waits for its client does not, nor
 * one that is gone.
 */
async function workingOf(sql: Sql, pids: readonly number[]): Promise<Set<number>> {
  const rows = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(${numberArray(pids)}::int[]) AND coalesce(state, '') NOT LIKE 'idle%' AND coalesce(wait_event_type, '') <> 'Client'`;
  return new Set(rows.map(({ pid }) => pid));
}
