/** Drains machines: empties them of workers, and hands back what still runs at the deadline. */

import type { DrainRequest } from '../../domain/machines/drain.ts';
import { createdValues } from '../../domain/resources/release-values.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { CurrentAttempt } from '../jobs/running-jobs.ts';
import { lockPlacement } from '../scaling/standby-rows.ts';
import type { Database } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';

export class DrainStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Cordons a machine and drains its workers, or sets the deadline and the reason of a drain anew. Returns the
   * endpoints of these workers. `undefined`: there is no such machine.
   */
  async drain(id: string, { deadlineMs, reason }: DrainRequest, keyId: string): Promise<string[] | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      // Nothing is placed there between the two changes.
      await lockPlacement(statement);
      const machines = await statement`
        UPDATE machine SET cordoned = true, draining_since = coalesce(draining_since, now()),
          drain_deadline_at = CASE WHEN ${deadlineMs ?? -1}::float8 >= 0
            THEN now() + ${deadlineMs ?? -1}::float8 * interval '1 ms' END, drain_reason = ${reason}
        WHERE id = ${id} RETURNING id`;
      if (machines.length === 0) return undefined;
      const workers = await statement<{ endpoint_id: string }[]>`
        UPDATE worker w SET desired = 'DRAIN', desired_at = now()
        FROM (
          SELECT id FROM worker
          WHERE machine_id = ${id} AND ended_at IS NULL AND machine_id <> '' AND desired IN ('RUN', 'FREEZE')
          ORDER BY id FOR NO KEY UPDATE
        ) AS l
        WHERE w.id = l.id RETURNING w.endpoint_id`;
      const fields = [...(deadlineMs === undefined ? [] : ['deadline_ms']), ...(reason === '' ? [] : ['reason'])];
      const values = createdValues({ deadlineMs, reason }, fields);
      await recordChange(tx, { accountId: '', keyId, action: 'DrainMachine', subjectId: id, fields, values });
      return [...new Set(workers.map((worker) => worker.endpoint_id))];
    });
  }

  /** Returns attempts that still run on machines whose deadline is over. */
  async overdue(limit: number): Promise<CurrentAttempt[]> {
    return this.#database.sql<CurrentAttempt[]>`
      SELECT j.endpoint_id AS "endpointId", j.id AS "jobId", j.attempt, j.machine_id AS "machineId",
        j.worker_id AS "workerId"
      FROM machine m JOIN job j ON j.machine_id = m.id AND j.state = 'IN_PROGRESS'
      WHERE m.drain_deadline_at <= now()
      ORDER BY j.started_at LIMIT ${limit}`;
  }
}
