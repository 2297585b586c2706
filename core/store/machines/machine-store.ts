/** Stores machines: their facts, the session that owns each, and the lease on their attempts, by the database clock. */

import type { OffloadRow } from '@slipway/drizzle/schema/machine';
import type { PendingQuery, Row } from 'postgres';
import { gpuTypeOf } from '../../domain/machines/gpu-facts.ts';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';
import { unlistedTypes } from '../../domain/machines/gpu-pools.ts';
import type { MachineLoads } from '../../domain/machines/host-load.ts';
import { LEASE_MS } from '../../domain/machines/lease.ts';
import type { PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import { deleteEnded } from '../jobs/lost-attempt-rows.ts';
import type { MachineRow } from '../scaling/placement-view.ts';
import { readPlacement } from '../scaling/placement-view.ts';
import { lockPlacement, offloadedBytes } from '../scaling/standby-rows.ts';
import type { Database } from '../sql/database.ts';
import { inTransaction, statementOf } from '../sql/database.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { readPage } from '../sql/page.ts';
import type { DrainRow } from './drain-rows.ts';
import { drainColumns, drainOf } from './drain-rows.ts';
import type { LeaseHolder, NewSession } from './machine-joining.ts';
import { joinMachine } from './machine-joining.ts';
import { MACHINE_LIST } from './machine-list.ts';
import type { MachineFacts, MachineStatus } from './machine-rows.ts';
import { factsOf } from './machine-rows.ts';
import { keepPools, readPool } from './pool-rows.ts';

/** Upper bound of a list: more machines than one installation has. */
const MACHINES_MAX = 100_000;
/** Most machines of one name that `find` returns. */
const NAMESAKES_TOLD = 10;

/** The session of a machine, as a replica identifies it. */
export interface MachineSession {
  machineId: string;
  sessionId: string;
}

/** A heartbeat of a session. */
export interface MachineHeartbeat extends MachineSession {
  /** `undefined` if they are unchanged. */
  loads?: MachineLoads | undefined;
}

/** Results of the deletion of a machine. */
interface ForgottenMachine {
  lostWorkers: number;
  deletedPods: number;
  /** Endpoints whose workers were lost. */
  endpointIds: string[];
  /** Keys that were revoked. */
  keyIds: string[];
}

export class MachineStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Makes a session the owner of its machine and starts a lease. This fences every earlier session. Fails while another
   * run of an agent holds the lease, unless this run replaces it and the other's session has ended or is no longer
   * seen; then returns the holder. Returns `undefined` if the session joined.
   */
  async join(facts: MachineFacts, session: NewSession): Promise<LeaseHolder | undefined> {
    const { sql } = this.#database;
    if (facts.pool === '') return joinMachine(sql, facts, session, undefined);
    return inTransaction(sql, async (tx) => {
      // A change of the pool meanwhile would miss the machine.
      await keepPools(tx);
      return joinMachine(tx, facts, session, await readPool(tx, facts.pool));
    });
  }

  /**
   * Records that a session ended normally. Its machine's lease continues: the agent may come back and still hold its
   * attempts.
   */
  async leave({ machineId, sessionId }: MachineSession): Promise<void> {
    await this.#database
      .sql`UPDATE machine SET session_id = NULL WHERE id = ${machineId} AND session_id = ${sessionId}`;
  }

  /**
   * Extends the leases of many machines in one statement, which also stores their loads. Returns the
   * sessions that still own their machine.
   */
  async extend(beats: readonly MachineHeartbeat[]): Promise<Set<string>> {
    // Sorted by id, so that two replicas never lock the same rows in opposite order.
    const ordered = beats.toSorted((a, b) => (a.machineId < b.machineId ? -1 : 1));
    const rows = await this.#database.urgent.sql<{ id: string }[]>`
      UPDATE machine m SET lease_expires_at = clock_timestamp() + ${LEASE_MS}::int * interval '1 ms',
        seen_at = clock_timestamp(), gpu_loads = coalesce(s.gpu_loads::jsonb, m.gpu_loads),
        worker_loads = coalesce(s.worker_loads::jsonb, m.worker_loads)
      FROM unnest(${ordered.map((s) => s.machineId)}::text[], ${ordered.map((s) => s.sessionId)}::text[],
        ${ordered.map(({ loads }) => (loads ? JSON.stringify(loads.gpus) : null))}::text[],
        ${ordered.map(({ loads }) => (loads ? JSON.stringify(loads.workers) : null))}::text[]) AS s (machine_id,
        session_id, gpu_loads, worker_loads)
      WHERE m.id = s.machine_id AND m.session_id = s.session_id RETURNING m.session_id AS id`;
    return new Set(rows.map((row) => row.id));
  }

  /**
   * Returns the GPU types of all machines that ever joined. Reads them only if `gpuIds` names a type that the public
   * API does not know.
   */
  async reportedTypes(gpuIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (unlistedTypes(gpuIds).length === 0) return new Set();
    const rows = await this.#database.sql<Pick<MachineFacts, 'gpus'>[]>`SELECT gpus FROM machine`;
    return new Set(rows.flatMap(({ gpus }) => gpus).map(gpuTypeOf));
  }

  /** Returns all machines that ever joined, sorted by name. */
  async list(): Promise<MachineStatus[]> {
    return this.#read(this.#database.sql`ORDER BY name, id LIMIT ${MACHINES_MAX}`);
  }

  /** Returns a page of the machines that ever joined. */
  async page(page: PageRequest): Promise<Page<MachineStatus>> {
    return readPage(this.#database, MACHINE_LIST, page, (ids) =>
      this.#read(this.#database.sql`WHERE id = ANY(${ids})`),
    );
  }

  /** Returns the machine with this id, else the machines with this name: more than one if the name is ambiguous. */
  async find(named: string): Promise<MachineStatus[]> {
    const { sql } = this.#database;
    const found = await this.#read(sql`WHERE id = ${named}`);
    return found.length > 0 ? found : this.#read(sql`WHERE name = ${named} ORDER BY id LIMIT ${NAMESAKES_TOLD}`);
  }

  async #read(which: PendingQuery<Row[]>): Promise<MachineStatus[]> {
    const { sql } = this.#database;
    const rows = await sql<
      (MachineRow &
        DrainRow & { seen_at_ms: number; pod_gpus: string[]; gpu_loads: GpuLoad[]; offloaded: number } & {
          labels: Record<string, string>;
        })[]
    >`
      SELECT *, ARRAY(SELECT gpu_uuid FROM gpu_hold WHERE machine_id = machine.id AND pod_id IS NOT NULL) AS pod_gpus,
        session_id IS NOT NULL AND lease_expires_at > now() AS connected,
        ${offloadedBytes(sql, sql`machine.id`)} AS offloaded,
        coalesce((SELECT labels FROM machine_pool p WHERE p.name = machine.pool), '{}') AS labels,
        (extract(epoch FROM seen_at) * 1000)::bigint AS seen_at_ms,
        (extract(epoch FROM leaves_at) * 1000)::bigint AS leaves_at_ms, ${drainColumns(sql)}
      FROM machine ${which}`;
    return rows.map((row) => ({
      ...factsOf(row),
      connected: row.connected,
      cordoned: row.cordoned,
      seenAtMs: row.seen_at_ms,
      drain: drainOf(row),
      podGpuUuids: row.pod_gpus,
      gpuLoads: row.connected ? row.gpu_loads : [],
      standbyMemoryUsedBytes: row.offloaded,
      labels: row.labels,
    }));
  }

  /**
   * Deletes a machine with its workers and pods and revokes its key, unless its lease is valid. Records it in the audit
   * trail of each account that had a pod there. The machine's attempts then have no machine: the lease rescuer requeues
   * them.
   */
  async forget(id: string, keyId: string): Promise<'unknown' | 'leased' | ForgottenMachine> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      // In the order of placement and reports: the placement lock, the machine, its workers by their ids.
      await lockPlacement(statement);
      const [found] = await statement<
        { leased: boolean }[]
      >`SELECT lease_expires_at > now() AS leased FROM machine WHERE id = ${id} FOR UPDATE`;
      if (!found) return 'unknown';
      if (found.leased) return 'leased';
      const workers = await statement<{ endpoint_id: string }[]>`
        SELECT endpoint_id FROM worker WHERE machine_id = ${id} AND ended_at IS NULL AND machine_id <> ''`;
      const pods = await statement<
        { id: string; account_id: string; name: string }[]
      >`SELECT id, account_id, name FROM pod WHERE machine_id = ${id}`;
      for (const pod of pods)
        await recordChange(tx, {
          ...{ accountId: pod.account_id, keyId, action: 'ForgetMachine' },
          ...{ subjectId: pod.id, subjectName: pod.name, fields: [] },
        });
      const ended = await statement<
        { id: string }[]
      >`SELECT id FROM worker WHERE machine_id = ${id} AND state IN ('UNHEALTHY', 'STOPPED') ORDER BY id FOR UPDATE`;
      await deleteEnded(
        statement,
        ended.map((worker) => worker.id),
      );
      await recordChange(tx, { accountId: '', keyId, action: 'ForgetMachine', subjectId: id, fields: [] });
      await statement`DELETE FROM machine WHERE id = ${id}`;
      const keys = await statement<{ id: string }[]>`
        UPDATE api_key SET revoked_at = now()
        WHERE machine_id = ${id} AND (revoked_at IS NULL OR revoked_at > now()) RETURNING id`;
      const endpointIds = [...new Set(workers.map((worker) => worker.endpoint_id))];
      return { lostWorkers: workers.length, deletedPods: pods.length, endpointIds, keyIds: keys.map((key) => key.id) };
    });
  }

  /** Revokes the keys of a machine. Returns their ids; `undefined` if there is no such machine. Idempotent. */
  async revokeKeys(id: string, keyId: string): Promise<string[] | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      const [found] = await statement`SELECT FROM machine WHERE id = ${id}`;
      if (!found) return undefined;
      const keys = await statement<{ id: string }[]>`
        UPDATE api_key SET revoked_at = now()
        WHERE machine_id = ${id} AND (revoked_at IS NULL OR revoked_at > now()) RETURNING id`;
      for (const key of keys)
        await recordChange(tx, { accountId: '', keyId, action: 'RevokeKey', subjectId: key.id, fields: [] });
      return keys.map((key) => key.id);
    });
  }

  /**
   * Cordons or uncordons a machine: a cordoned one gets no new workers or pods, and an uncordoned one is drained no
   * more. Returns false if there is no such machine.
   */
  async cordon(id: string, cordoned: boolean, keyId: string): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const rows = await statementOf(tx)<{ changed: boolean }[]>`
        UPDATE machine m SET cordoned = (${cordoned ? 1 : 0}::int = 1),
          draining_since = CASE WHEN ${cordoned ? 1 : 0}::int = 1 THEN m.draining_since END,
          drain_deadline_at = CASE WHEN ${cordoned ? 1 : 0}::int = 1 THEN m.drain_deadline_at END,
          drain_reason = CASE WHEN ${cordoned ? 1 : 0}::int = 1 THEN m.drain_reason ELSE '' END
        FROM machine before
          WHERE m.id = ${id} AND before.id = m.id
        RETURNING before.cordoned <> m.cordoned AS changed`;
      const action = cordoned ? 'CordonMachine' : 'UncordonMachine';
      const values = { cordoned: { old: !cordoned, new: cordoned } };
      if (rows[0]?.changed) await recordChange(tx, { accountId: '', keyId, action, subjectId: id, fields: [], values });
      return rows.length > 0;
    });
  }

  /** Stores a changed report of a machine's offload, while the session owns the machine. */
  async reportOffload({ machineId, sessionId }: MachineSession, offload: OffloadRow): Promise<void> {
    await this.#database.sql`
      UPDATE machine SET gpu_offload = ${JSON.stringify(offload)}::text::jsonb
      WHERE id = ${machineId} AND session_id = ${sessionId}`;
  }

  /** Returns the address of the replica that holds a machine's session. `undefined` if no replica holds one. */
  async replicaOf(machineId: string): Promise<string | undefined> {
    const [row] = await this.#database.sql<{ replica_address: string }[]>`
      SELECT replica_address FROM machine WHERE id = ${machineId} AND session_id IS NOT NULL
        AND lease_expires_at > now()`;
    return row?.replica_address;
  }

  /** Returns all machines with their current use by workers and pods. For people: must not be used for placement. */
  async view(): Promise<PlacementMachine[]> {
    return readPlacement(this.#database.sql, { endpointId: '', imageName: '', imageDigest: '' });
  }
}
