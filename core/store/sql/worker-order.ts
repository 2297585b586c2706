/** In which order workers are locked. */
import type { Fragment, Sql } from './database.ts';

/**
 * Locks these workers, by their ids, for a change of several in one statement: `UPDATE worker w … FROM
 * ${lockedInOrder(…)} AS l WHERE w.id = l.id`. Reports, signs of use and looks change the same ones at any moment; in
 * orders of their own they would wait for each other until PostgreSQL broke one off.
 */
export function lockedInOrder(sql: Sql, which: Fragment): Fragment {
  return sql`(SELECT id FROM worker WHERE ${which} ORDER BY id FOR NO KEY UPDATE)`;
}
