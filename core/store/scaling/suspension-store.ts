/** Stores suspensions of workers by an operator. */

import type { OffloadRow } from '@slipway/drizzle/schema/machine';
import type { OffloadedWorker } from '../../domain/machines/standby-budget.ts';
import type { SuspendedWorker } from '../../domain/machines/suspension.ts';
import { suspensionOf } from '../../domain/machines/suspension.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Statement } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import { evictStandbys, lockPlacement } from './standby-rows.ts';

/** Changes of a suspension. */
interface ChangedWorkers {
  machineId: string;
  /** Endpoints whose workers changed. */
  endpointIds: string[];
}

type Row = Omit<SuspendedWorker, 'budget' | 'unsupportedReason' | 'offloaded'> & {
  endpointId: string;
  machineId: string;
  suspended: boolean;
  offload: OffloadRow | null;
  usedBytes: number;
  offloaded: (OffloadedWorker & { endpointId: string })[];
};

export class SuspensionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Suspends a worker. `undefined`: there is none. Throws IN_USE if it cannot be suspended. */
  async suspend(workerId: string, keyId: string): Promise<ChangedWorkers | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      await lockPlacement(statement);
      await lockForSuspension(statement, workerId);
      const row = await read(statement, workerId);
      if (!row) return undefined;
      const { machineId, endpointId, offload, usedBytes } = row;
      if (row.suspended) return { machineId, endpointIds: [endpointId] };
      const evicted = suspensionOf({
        ...row,
        budget: offload?.supported ? { limitBytes: offload.standbyMemoryBytes, usedBytes } : undefined,
        unsupportedReason: offload?.unsupportedReason ?? 'its agent is older than this feature',
      });
      await evictStandbys(statement, evicted);
      await statement`
        UPDATE worker SET suspended = true, standby_level = 'HOST', desired_at = now(), desired = 'FREEZE'
        WHERE id = ${workerId}`;
      await recordChange(tx, { accountId: '', keyId, action: 'SuspendWorker', subjectId: workerId, fields: [] });
      const of = row.offloaded.filter((other) => evicted.includes(other.workerId));
      return { machineId, endpointIds: [...new Set([endpointId, ...of.map((other) => other.endpointId)])] };
    });
  }

  /** Resumes a suspended worker. `undefined`: there is none. Throws IN_USE if it is not suspended. */
  async resume(workerId: string, keyId: string): Promise<ChangedWorkers | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      await lockPlacement(statement);
      const row = await read(statement, workerId);
      if (!row) return undefined;
      if (!row.suspended) throw new DomainError('IN_USE', 'The worker is not suspended.');
      await statement`
        UPDATE worker SET suspended = false, desired_at = now(), busy_at = now(),
          desired = CASE WHEN desired = 'FREEZE' THEN 'RUN' ELSE desired END
        WHERE id = ${workerId}`;
      await recordChange(tx, { accountId: '', keyId, action: 'ResumeWorker', subjectId: workerId, fields: [] });
      return { machineId: row.machineId, endpointIds: [row.endpointId] };
    });
  }
}

/** Locks a worker and those that may be evicted for it, in the order in which reports lock them. */
async function lockForSuspension(statement: Statement, workerId: string): Promise<void> {
  await statement`
    SELECT FROM worker
    WHERE machine_id = (SELECT machine_id FROM worker WHERE id = ${workerId}) AND ended_at IS NULL
      AND machine_id <> '' AND (id = ${workerId} OR (desired = 'FREEZE' AND standby_reached = 'HOST'))
    ORDER BY id FOR NO KEY UPDATE`;
}

async function read(statement: Statement, workerId: string): Promise<Row | undefined> {
  const [row] = await statement<Row[]>`
    SELECT w.id, w.endpoint_id AS "endpointId", w.machine_id AS "machineId", w.desired, w.state, w.suspended,
      cardinality(w.gpu_uuids) AS gpus, w.standby_reached AS "standbyReached", w.gpu_memory_bytes AS "gpuMemoryBytes",
      m.name AS "machineName", m.gpu_offload AS offload,
      (SELECT coalesce(sum(o.gpu_memory_bytes), 0)::float8 FROM worker o
        WHERE o.machine_id = m.id AND o.ended_at IS NULL AND o.machine_id <> '' AND o.state <> 'UNHEALTHY'
          AND (o.standby_reached = 'HOST' OR (o.desired = 'FREEZE' AND o.standby_level = 'HOST'))) AS "usedBytes",
      EXISTS (SELECT FROM gpu_hold h WHERE h.machine_id = m.id AND h.gpu_uuid = ANY(w.gpu_uuids)
        AND h.worker_id IS DISTINCT FROM w.id) AS "gpusTaken",
      ARRAY(SELECT jsonb_build_object('workerId', o.id, 'endpointId', o.endpoint_id, 'bytes', o.gpu_memory_bytes,
          'offloadedMs', (extract(epoch FROM now() - o.offloaded_at) * 1000)::bigint)
        FROM worker o WHERE o.machine_id = m.id AND o.ended_at IS NULL AND o.machine_id <> '' AND o.id <> w.id
          AND o.desired = 'FREEZE' AND o.standby_reached = 'HOST' AND NOT o.suspended) AS offloaded
    FROM worker w JOIN machine m ON m.id = w.machine_id
    WHERE w.id = ${workerId} AND w.ended_at IS NULL FOR NO KEY UPDATE OF w`;
  return row;
}
