/** Reads machines as placement sees them: connection, use by workers and pods, and images. */
import type { EngineRow, GpuRow, OffloadRow } from '@slipway/drizzle/schema/machine';
import type { CpuSize } from '../../domain/machines/cpu-size.ts';
import { cpuSize, memoryGb } from '../../domain/machines/cpu-size.ts';
import { shortMemoryGb } from '../../domain/machines/gpu-facts.ts';
import { expectedOffloadMs, moveOf } from '../../domain/machines/standby.ts';
import type { OffloadBudget, OffloadedWorker } from '../../domain/machines/standby-budget.ts';
import { GONE_AFTER_MINUTES } from '../../domain/scaling/placement.ts';
import type { PlacementGpu, PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import { reportedName } from '../../domain/scaling/placement-machine.ts';
import type { PlacementStandby } from '../../domain/scaling/standby/standby-eviction.ts';
import type { Sql, Statement } from '../sql/database.ts';
import { modelBytes } from '../sql/model-rows.ts';
import { lockPlacement } from './standby-rows.ts';

/** The request that the view is for. */
export interface PlacementQuery {
  /** Endpoint whose workers count as siblings. Empty for a pod. */
  endpointId: string;
  /** Empty for a host command. */
  imageName: string;
  /** Resolved digest of the image. Empty if it is not resolved. */
  imageDigest: string;
  /** Workers that are about to be retired: their resources count as free. Default: none. */
  goneIds?: readonly string[];
}

/** A row of the table of machines. */
export interface MachineRow {
  id: string;
  name: string;
  gpus: GpuRow[];
  locations: string[];
  pool: string;
  cpu_slots: number;
  agent_version: string;
  cuda_version: string;
  cpu_count: number;
  memory_mib: number;
  cpu_model: string;
  cpu_threads_per_core: number;
  standby_max: number;
  gpu_offload: OffloadRow | null;
  cordoned: boolean;
  runs_commands: boolean;
  engine: EngineRow | null;
  no_engine_reason: string;
  model_limit_bytes: number;
  connected: boolean;
  ephemeral: boolean;
  leaves_at_ms: number | null;
}

type StandbyRow = Omit<PlacementStandby, 'offloadBytes' | 'offloadMs'> & {
  bytes: number;
  mayOffload: boolean;
  movedBytes: number | null;
  movedMs: number | null;
};

type Unread = 'pool' | 'agent_version' | 'cpu_model' | 'cpu_threads_per_core' | 'ephemeral' | 'leaves_at_ms';
type ViewRow = Omit<MachineRow, Unread> & Uses & { leaves_in_ms: number | null };

/** Use of a machine by workers and pods, and whether it is removed. */
interface Uses {
  gone: boolean;
  /** This and the following texts are lists, separated by commas. */
  used_uuids: string;
  cpu_used: number;
  siblings: number;
  /** Instance ids, one per worker or pod with a size. */
  sizes: string;
  standbys: StandbyRow[];
  offloaded: OffloadedWorker[];
  offloaded_bytes: number;
  gave_way_to: string;
  has_image: boolean;
}

/**
 * Returns all machines as placement sees them. Takes the placement lock, which is held until the transaction of
 * `statement` ends.
 */
export async function placementView(statement: Statement, asked: PlacementQuery): Promise<PlacementMachine[]> {
  await lockPlacement(statement);
  return readPlacement(statement, asked);
}

/**
 * Returns the same as of now without a lock. Nothing may be placed by it. Workers and pods use GPUs and slots alike.
 * Standby workers are listed separately. Crashed workers use nothing: an endpoint whose workers crash must not keep
 * others from the only GPU while it waits for its next try.
 */
export async function readPlacement(
  statement: Statement,
  { endpointId, imageName, imageDigest, goneIds = [] }: PlacementQuery,
): Promise<PlacementMachine[]> {
  const gone = goneIds.join();
  // One pass over the living workers, however many ended workers and machines there are, because placements wait for
  // each other. The use of each machine is aggregated as text, which costs a third of arrays. GPU load is not read, as
  // placement does not depend on it.
  const rows = await statement<ViewRow[]>`
    SELECT m.id, m.name, m.locations, m.cuda_version, m.cordoned, m.gpus, m.cpu_slots, m.cpu_count, m.memory_mib,
      m.standby_max, m.runs_commands, m.engine,
      (extract(epoch FROM m.leaves_at - now()) * 1000)::float8 AS leaves_in_ms,
      m.no_engine_reason, m.model_limit_bytes, m.session_id IS NOT NULL AND m.lease_expires_at > now() AS connected,
      m.seen_at < now() - ${GONE_AFTER_MINUTES}::int * interval '1 min' AS gone, coalesce(u.cpu_used, 0) AS cpu_used,
      coalesce(u.siblings, 0) AS siblings,
      coalesce(u.used_uuids, '') AS used_uuids, coalesce(u.sizes, '') AS sizes,
      coalesce(u.gave_way_to, '') AS gave_way_to,
      coalesce(u.standbys, '[]') AS standbys, m.gpu_offload,
      coalesce(u.offloaded, '[]') AS offloaded, coalesce(u.offloaded_bytes, 0)::float8 AS offloaded_bytes,
      (${imageName}::text <> '' OR ${imageDigest}::text <> '') AND EXISTS (SELECT FROM machine_image i
        WHERE i.machine_id = m.id
        AND CASE ${imageDigest}::text WHEN '' THEN i.name = ${reportedName(imageName)}
          ELSE i.digest = ${imageDigest} END) AS has_image
    FROM machine m LEFT JOIN (
      SELECT machine_id, count(*) FILTER (WHERE NOT frozen AND gpu_uuids = '{}')::int AS cpu_used,
        count(*) FILTER (WHERE NOT frozen AND endpoint_id = ${endpointId})::int AS siblings,
        string_agg(array_to_string(gpu_uuids, ','), ',') FILTER (WHERE NOT frozen AND gpu_uuids <> '{}') AS used_uuids,
        string_agg(instance_id, ',') FILTER (WHERE NOT frozen AND instance_id <> '') AS sizes,
        string_agg(gave_way_to, ',') FILTER (WHERE NOT frozen AND gave_way_to <> '') AS gave_way_to,
        jsonb_agg(jsonb_build_object('workerId', id, 'gpuUuids', gpu_uuids, 'instanceId', instance_id,
          'frozenMs', (extract(epoch FROM now() - desired_at) * 1000)::bigint,
          'bytes', bytes, 'mayOffload', may_offload,
          'movedBytes', offload_bytes, 'movedMs', offload_ms)) FILTER (WHERE frozen AND NOT in_host) AS standbys,
        jsonb_agg(jsonb_build_object('workerId', id, 'bytes', bytes,
          'offloadedMs', (extract(epoch FROM now() - coalesce(offloaded_at, now())) * 1000)::bigint))
          FILTER (WHERE frozen AND in_host) AS offloaded,
        sum(bytes) FILTER (WHERE in_host) AS offloaded_bytes
      FROM (
        SELECT id, machine_id, endpoint_id, gpu_uuids, instance_id, gave_way_to,
          desired = 'FREEZE' AND NOT suspended AS frozen, desired_at, offloaded_at, gpu_memory_bytes AS bytes,
          offload_bytes, offload_ms,
          standby_reached = 'HOST' OR (desired = 'FREEZE' AND standby_level = 'HOST') AS in_host,
          gpu_uuids <> '{}' AND desired = 'FREEZE' AND state IN ('READY', 'FROZEN') AND EXISTS (SELECT FROM endpoint e
            WHERE e.id = worker.endpoint_id AND e.flash_boot_standby <> 'GPU') AS may_offload
        FROM worker WHERE ended_at IS NULL AND machine_id <> '' AND state <> 'UNHEALTHY'
          AND id <> ALL(string_to_array(${gone}, ','))
        UNION ALL
        SELECT id, machine_id, NULL, gpu_uuids, instance_id, '', false, NULL, NULL, 0, NULL, NULL, false, false
          FROM pod WHERE desired = 'RUNNING') alive
      GROUP BY machine_id) u ON u.machine_id = m.id
    WHERE m.seen_at > now() - interval '1 day' ORDER BY m.id`;
  return rows.map(machineOf);
}

function machineOf(row: ViewRow): PlacementMachine {
  return {
    id: row.id,
    name: row.name,
    connected: row.connected,
    gone: row.gone,
    locations: row.locations,
    cudaVersion: row.cuda_version,
    cordoned: row.cordoned,
    gpus: gpusOf(row),
    cpuSlots: row.cpu_slots,
    cpuSlotsUsed: row.cpu_used,
    siblings: row.siblings,
    vcpus: row.cpu_count,
    vcpusUsed: total(row.sizes, (size) => size.vcpus),
    standbys: row.standbys.map((standby) => standbyOf(standby, row)).sort(oldestFirst),
    ...(row.gpu_offload?.supported && { offload: budgetOf(row) }),
    standbyMax: row.standby_max,
    memoryGb: memoryGb(row.memory_mib),
    memoryGbUsed: total(row.sizes, (size) => size.memoryGb),
    runsCommands: row.runs_commands,
    engine: row.engine ?? undefined,
    noEngineReason: row.no_engine_reason,
    hasImage: row.has_image,
    modelLimitBytes: row.model_limit_bytes,
    ...(isNearlyFull(row.engine) && { lacksRoom: true as const }),
    ...preempted(row),
    ...(row.leaves_in_ms !== null && { leavesInMs: row.leaves_in_ms }),
  };
}

/** Returns a standby worker, with its expected offload if its endpoint and its machine allow one. */
function standbyOf(
  { bytes, mayOffload, movedBytes, movedMs, ...standby }: StandbyRow,
  { gpu_offload: offload }: Pick<MachineRow, 'gpu_offload'>,
): PlacementStandby {
  if (!mayOffload || !offload?.supported) return standby;
  return { ...standby, offloadBytes: bytes, offloadMs: expectedOffloadMs(bytes, moveOf(movedBytes, movedMs)) };
}

function budgetOf({ gpu_offload: offload, offloaded, offloaded_bytes: usedBytes }: ViewRow): OffloadBudget {
  return { limitBytes: offload!.standbyMemoryBytes, usedBytes, offloaded };
}

/** Returns the member `preemptedFor`. The return type names it, because the spread of a literal is not checked. */
function preempted({ gave_way_to: endpoints }: Pick<Uses, 'gave_way_to'>): Pick<PlacementMachine, 'preemptedFor'> {
  return endpoints === '' ? {} : { preemptedFor: endpoints.split(',') };
}

/** Returns whether less than 1 GiB is free: agents report free disk space in steps of 1 GiB. */
function isNearlyFull(engine: EngineRow | null): boolean {
  return engine !== null && engine.imageTotalMib > 0 && engine.imageFreeMib < 1_024;
}

function gpusOf({
  gpus,
  used_uuids: usedUuids,
  standbys,
}: Pick<MachineRow, 'gpus'> & Pick<Uses, 'used_uuids' | 'standbys'>): PlacementGpu[] {
  const used = new Set(usedUuids.split(','));
  return gpus.map((gpu) => {
    const { uuid, name, migProfile, unhealthy = '', occupiedBy = '' } = gpu;
    const shortGb = shortMemoryGb(gpu);
    const standby = standbys.some(({ gpuUuids }) => gpuUuids.includes(uuid));
    return {
      uuid,
      name,
      migProfile,
      unhealthy,
      used: used.has(uuid) || occupiedBy !== '',
      standby,
      ...(occupiedBy !== '' && { occupiedBy }),
      ...(shortGb !== undefined && { shortGb }),
    };
  });
}

function oldestFirst(a: PlacementStandby, b: PlacementStandby): number {
  return b.frozenMs - a.frozenMs || (a.workerId < b.workerId ? -1 : 1);
}

/** Returns the columns of an endpoint `e` that describe its requirements. */
export function asked(sql: Sql) {
  return sql`e.id, e.gpu_ids AS "gpuIds", e.gpu_count AS "gpuCount", e.instance_ids AS "instanceIds", e.locations,
    e.allowed_cuda_versions AS "allowedCudaVersions",
    ARRAY(SELECT v.data_center_id FROM network_volume v WHERE v.id = ANY(e.network_volume_ids)
      ORDER BY v.id) AS "dataCenterIds",
    coalesce((SELECT g.image_name FROM given_template g WHERE g.endpoint_id = e.id),
      (SELECT t.image_name FROM template t WHERE t.id = e.template_id)) AS "imageName",
    e.execution_timeout_ms AS "executionTimeoutMs",
    e.model_references AS "modelReferences", ${modelBytes(sql, sql`e.model_references`)} AS "modelBytes"`;
}

/** Returns the sum over some sizes. */
function total(instanceIds: string, part: (size: CpuSize) => number): number {
  return instanceIds === '' ? 0 : instanceIds.split(',').reduce((sum, id) => sum + part(cpuSize(id)!), 0);
}
