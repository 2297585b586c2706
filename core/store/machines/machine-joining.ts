/** Makes a session the owner of its machine, in one statement. */

import { LEASE_MS, SUCCESSION_MS } from '../../domain/machines/lease.ts';
import type { PoolFields } from '../../domain/machines/machine-pool.ts';
import { locationsIn } from '../../domain/machines/machine-pool.ts';
import type { Sql } from '../sql/database.ts';
import type { MachineFacts } from './machine-rows.ts';

/** A session that requests to own its machine. */
export interface NewSession {
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

/** Writes the machine and its session. Returns the holder if another run of an agent holds the lease. */
export async function joinMachine(
  sql: Sql,
  facts: MachineFacts,
  session: NewSession,
  pool: PoolFields | undefined,
): Promise<LeaseHolder | undefined> {
  const { sessionId, replicaAddress, instance, replaces, heldHere } = session;
  const joined = await sql`
    INSERT INTO machine AS m (id, name, gpus, locations, own_locations, pool, cpu_slots, agent_version,
      cuda_version, cpu_count, memory_mib, cpu_model,
      cpu_threads_per_core, standby_max, runs_commands, engine, no_engine_reason, session_id, replica_address,
      gpu_offload,
      lease_expires_at, seen_at, instance)
    VALUES (${facts.id}, ${facts.name}, ${JSON.stringify(facts.gpus)}::text::jsonb,
      ${locationsIn(facts.locations, pool)}, ${facts.locations}, ${facts.pool},
      ${facts.cpuSlots},
      ${facts.agentVersion}, ${facts.cudaVersion}, ${facts.cpuCount}, ${facts.memoryMib}, ${facts.cpuModel},
      ${facts.cpuThreadsPerCore},
      ${facts.standbyMax}, ${facts.runsCommands}, ${facts.engine && JSON.stringify(facts.engine)}::text::jsonb,
      ${facts.noEngineReason},
      ${sessionId}, ${replicaAddress}, ${facts.gpuOffload && JSON.stringify(facts.gpuOffload)}::text::jsonb,
      clock_timestamp() + ${LEASE_MS}::int * interval '1 ms', clock_timestamp(),
      ${instance})
    ON CONFLICT (id) DO UPDATE SET (name, gpus, locations, own_locations, pool, cpu_slots, agent_version,
      cuda_version, cpu_count, memory_mib, cpu_model,
      cpu_threads_per_core, standby_max, runs_commands, engine, no_engine_reason, session_id, replica_address,
      gpu_offload, lease_expires_at, seen_at, instance, gpu_loads, worker_loads, instance_since) = (
      excluded.name, excluded.gpus, excluded.locations, excluded.own_locations, excluded.pool,
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
