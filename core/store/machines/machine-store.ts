/** Stores machines: their facts, the session that owns each, and the lease on their attempts, by the database clock. */

import type { OffloadRow } from '@slipway/drizzle/schema/machine';
import type { PendingQuery, Row } from 'postgres';
import { gpuTypeOf } from '../../domain/machines/gpu-facts.ts';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';
import { unlistedTypes } from '../../domain/machines/gpu-pools.ts';
import type { MachineLoads } from '../../domain/machines/host-load.ts';
import { LEASE_MS, SUCCESSION_MS } from '../../domain/machines/lease.ts';
import type { PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import { deleteEnded } from '../jobs/lost-attempt-rows.ts';
import type { MachineRow } from '../scaling/placement-view.ts';
import { readPlacement } from '../scaling/placement-view.ts';
import { offloadedBytes } from '../scaling/standby-rows.ts';
import type { Database } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { readPage } from '../sql/page.ts';
import type { DrainRow } from './drain-rows.ts';
import { drainColumns, drainOf } from './drain-rows.ts';
import { MACHINE_LIST } from './machine-list.ts';
import type { MachineFacts, MachineStatus } from './machine-rows.ts';
import { factsOf } from './machine-rows.ts';

/** Upper bound of a list: more machines than one installation has. */
const MACHINES_MAX = 100_000;
/** Most machines of one name that `find` returns. */
const NAMESAKES_TOLD = 10;
/** A session that requests to own its machine. */
interface NewSession {
  sessionId: string;
  replicaAddress: string;
  /** Id of the agent's run. Empty: the agent does not report it. */
  instance: string;
  /** Id of the run that it replaces. */
  replaces: string;
  /** True if this replica holds an open session of the machine. */
  heldHere: boolean;
}

/** The agent run that holds the lease of a machine. */
export interface LeaseHolder {
  /** Name of the machine. */
  name: string;
  since: Date;
}

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
    const { sessionId, replicaAddress, instance, replaces, heldHere } = session;
    const joined = await sql`
      INSERT INTO machine AS m (id, name, gpus, locations, cpu_slots, agent_version, cuda_version, cpu_count,
        memory_mib, cpu_model,
        cpu_threads_per_core, standby_max, runs_commands, engine, no_engine_reason, session_id, replica_address,
        gpu_offload,
        lease_expires_at, seen_at, instance)
      VALUES (${facts.id}, ${facts.name}, ${JSON.stringify(facts.gpus)}::text::jsonb, ${facts.locations},
        ${facts.cpuSlots},
        ${facts.agentVersion}, ${facts.cudaVersion}, ${facts.cpuCount}, ${facts.memoryMib}, ${facts.cpuModel},
        ${facts.cpuThreadsPerCore},
        ${facts.standbyMax}, ${facts.runsCommands}, ${facts.engine && JSON.stringify(facts.engine)}::text::jsonb,
        ${facts.noEngineReason},
        ${sessionId}, ${replicaAddress}, ${facts.gpuOffload && JSON.stringify(facts.gpuOffload)}::text::jsonb,
        clock_timestamp() + ${LEASE_MS}::int * interval '1 ms', clock_timestamp(),
        ${instance})
      ON CONFLICT (id) DO UPDATE SET (name, gpus, locations, cpu_slots, agent_version, cuda_version, cpu_count,
        memory_mib, cpu_model,
        cpu_threads_per_core, standby_max, runs_commands, engine, no_engine_reason, session_id, replica_address,
        gpu_offload, lease_expires_at, seen_at, instance, gpu_loads, worker_loads, instance_since) = (
        excluded.name, excluded.gpus, excluded.locations,
        excluded.cpu_slots, excluded.agent_version, excluded.cuda_version, excluded.cpu_count, excluded.memory_mib,
        excluded.cpu_model,
        excluded.cpu_threads_per_core, excluded.standby_max, excluded.runs_commands, excluded.engine,
        excluded.no_engine_reason,
        excluded.session_id, excluded.replica_address,
        excluded.gpu_offload, excluded.lease_expires_at, excluded.seen_at,
        excluded.instance, excluded.gpu_loads, excluded.worker_loads,
        CASE WHEN m.instance = excluded.instance THEN m.instance_since ELSE excluded.seen_at END)
      WHERE m.instance IN ('', excluded.instance) OR m.lease_expires_at < clock_timestamp()
        OR (m.instance = ${replaces} AND (
        m.session_id IS NULL OR m.seen_at < clock_timestamp() - ${SUCCESSION_MS}::int * interval '1 ms'
        OR (m.replica_address = ${replicaAddress} AND NOT ${heldHere}::boolean)))
      RETURNING id`;
    if (joined.length > 0) return undefined;
    const [holder] = await sql<{ name: string; since: number }[]>`
      SELECT name, (extract(epoch FROM instance_since) * 1000)::bigint AS since FROM machine WHERE id = ${facts.id}`;
    return { name: holder!.name, since: new Date(holder!.since) };
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
      (MachineRow & DrainRow & { seen_at_ms: number; pod_gpus: string[]; gpu_loads: GpuLoad[]; offloaded: number })[]
    >`
      SELECT *, ARRAY(SELECT gpu_uuid FROM gpu_hold WHERE machine_id = machine.id AND pod_id IS NOT NULL) AS pod_gpus,
        session_id IS NOT NULL AND lease_expires_at > now() AS connected,
        ${offloadedBytes(sql, sql`machine.id`)} AS offloaded,
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
      >`SELECT id FROM worker WHERE machine_id = ${id} AND state IN ('UNHEALTHY', 'STOPPED')`;
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
