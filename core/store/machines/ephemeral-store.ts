/** Stores how long machines stay, and drains the ones that leave soon. */
import { AWAY_MINUTES_MAX, LEAVE_MARGIN_MS } from '../../domain/machines/ephemeral.ts';
import { lockPlacement } from '../scaling/standby-rows.ts';
import type { Database } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import type { MachineFacts } from './machine-rows.ts';
import type { MachineSession } from './machine-store.ts';

/** Machines of one pass. */
const BATCH_ITEMS_MAX = 100;

/** A worker that was drained. */
interface DrainedWorker {
  workerId: string;
  endpointId: string;
  machineId: string;
}

export class EphemeralStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores how long a machine stays, as its agent says at the start of a session, while that owns the machine. */
  async begin(
    { id, ephemeral, leavesAt: at }: Pick<MachineFacts, 'id' | 'ephemeral' | 'leavesAt'>,
    sessionId: string,
  ): Promise<void> {
    const { sql } = this.#database;
    const leavesAt = sql`to_timestamp(${at && at.getTime()}::float8 / 1000)`;
    const stays = ephemeral ? 1 : 0;
    await sql`
      UPDATE machine SET ephemeral = (${stays}::int = 1), leaves_at = ${leavesAt}, left_at = NULL
      WHERE id = ${id} AND session_id = ${sessionId} AND (ephemeral <> (${stays}::int = 1)
        OR leaves_at IS DISTINCT FROM ${leavesAt} OR left_at IS NOT NULL)`;
  }

  /**
   * Records that an ephemeral machine leaves for good, unless another session owns it. The session of the message may
   * have ended already: an agent that leaves closes it at once.
   */
  async leave({ machineId, sessionId }: MachineSession): Promise<void> {
    await this.#database.sql`
      UPDATE machine SET left_at = now()
      WHERE id = ${machineId} AND coalesce(session_id, ${sessionId}) = ${sessionId} AND ephemeral`;
  }

  /** Returns whether there are machines that leave some day. */
  async isAny(): Promise<boolean> {
    const rows = await this.#database.sql`SELECT FROM machine WHERE leaves_at IS NOT NULL OR ephemeral LIMIT 1`;
    return rows.length > 0;
  }

  /** Drains workers whose next job might not end before their machine leaves. */
  async drainLeaving(): Promise<DrainedWorker[]> {
    const { sql, db } = this.#database;
    const [found] = await sql`SELECT FROM machine WHERE leaves_at < now() + interval '8 days' LIMIT 1`;
    if (!found) return [];
    return db.transaction(async (tx) => {
      const statement = statementOf(tx);
      await lockPlacement(statement);
      return statement<DrainedWorker[]>`
        UPDATE worker w SET desired = 'DRAIN', desired_at = now()
        FROM (
          SELECT w.id FROM machine m JOIN worker w ON w.machine_id = m.id AND w.ended_at IS NULL AND w.machine_id <> ''
            JOIN endpoint e ON e.id = w.endpoint_id
          WHERE w.desired IN ('RUN', 'FREEZE')
            AND m.leaves_at < now() + (e.execution_timeout_ms + ${LEAVE_MARGIN_MS}::int) * interval '1 ms'
          ORDER BY w.id FOR NO KEY UPDATE OF w
        ) AS l
        WHERE w.id = l.id RETURNING w.id AS "workerId", w.endpoint_id AS "endpointId", w.machine_id AS "machineId"`;
    });
  }

  /** Returns ephemeral machines that have left, and whose lease is over. */
  async left(): Promise<string[]> {
    const rows = await this.#database.sql<{ id: string }[]>`
      SELECT id FROM machine
      WHERE ephemeral AND lease_expires_at < now()
        AND (left_at IS NOT NULL OR seen_at < now() - ${AWAY_MINUTES_MAX}::int * interval '1 min')
      ORDER BY id LIMIT ${BATCH_ITEMS_MAX}`;
    return rows.map(({ id }) => id);
  }
}
