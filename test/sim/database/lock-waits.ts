/** Finds out whether a statement waits for a lock. */
import type { PlainConnection } from './sim-server.ts';

/** Returns whether a session waits for another one's lock. In a deadlock none does: the server is about to end one. */
export async function waitsForLock(admin: PlainConnection, pid: number): Promise<boolean> {
  const rows = await admin.query(
    `WITH RECURSIVE blocker (pid) AS (
       SELECT unnest(pg_blocking_pids(${pid}))
       UNION SELECT next FROM blocker b, unnest(pg_blocking_pids(b.pid)) AS next
     )
     SELECT FROM pg_locks WHERE pid = ${pid} AND NOT granted AND NOT EXISTS (SELECT FROM blocker WHERE pid = ${pid})`,
  );
  return rows.length > 0;
}
