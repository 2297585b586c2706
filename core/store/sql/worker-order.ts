/** Order in which workers are locked. */
import type { Fragment, Sql } from './database.ts';

/**
 * Locks these workers in order of their ids, for an update of several by one statement: `UPDATE worker w … FROM
 * ${lockedInOrder(…)} AS l WHERE w.id = l.id`. Reports and reconciles update the same workers concurrently; in
 * different orders they would deadlock.
 */
export function lockedInOrder(sql: Sql, which: Fragment): Fragment {
  return sql`(SELECT id FROM worker WHERE ${which} ORDER BY id FOR NO KEY UPDATE)`;
}
