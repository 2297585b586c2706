/**
 * Reads starts of workers by type of GPU, and the free slots of each type, for the scaler of endpoints that accept
 * several types.
 */
import { gpuPreference } from '../../domain/machines/gpu-pools.ts';
import { ANY_HOSTED } from '../../domain/machines/location.ts';
import type { SeenGpu } from '../../domain/scaling/gpu-starts.ts';
import { startsByGpu } from '../../domain/scaling/gpu-starts.ts';
import type { GpuStarts } from '../../domain/scaling/traffic.ts';
import { STARTS_SEEN_MAX } from '../../domain/scaling/traffic.ts';
import type { Sql } from '../sql/database.ts';

/** An endpoint with its requested GPUs. */
export interface GpuDemand {
  id: string;
  gpuIds: readonly string[];
  gpuCount: number;
}

/** Maximum number of workers per endpoint whose GPU types are read, latest first. */
const WORKERS_SEEN_MAX = 100;

interface TypeRow {
  id: string;
  name: string;
  migProfile: string;
}

/**
 * Returns the starts of endpoints whose workers started on several types of GPU. Free slots are counted as placement
 * does, as far as that works without its lock.
 */
export async function readGpuStarts(sql: Sql, endpoints: readonly GpuDemand[]): Promise<Map<string, GpuStarts[]>> {
  const asking = endpoints.filter(({ gpuIds, gpuCount }) => gpuCount > 0 && gpuPreference(gpuIds).order.length !== 1);
  if (asking.length === 0) return new Map();
  const seen = Map.groupBy(
    await readTypes(
      sql,
      asking.map(({ id }) => id),
    ),
    ({ id }) => id,
  );
  const several = asking.filter(({ id, gpuIds }) => startsByGpu(withPlaces(seen.get(id) ?? [], []), gpuIds).length > 0);
  if (several.length === 0) return new Map();
  const places = Map.groupBy(
    await readPlaces(
      sql,
      several.map(({ id }) => id),
    ),
    ({ id }) => id,
  );
  return new Map(
    several.map(({ id, gpuIds }) => [id, startsByGpu(withPlaces(seen.get(id)!, places.get(id) ?? []), gpuIds)]),
  );
}

type SeenRow = TypeRow & Pick<SeenGpu, 'workers' | 'startsMs'>;
type PlacesRow = TypeRow & Pick<SeenGpu, 'places'>;

function withPlaces(seen: readonly SeenRow[], places: readonly PlacesRow[]): SeenGpu[] {
  const typeOf = ({ name, migProfile }: TypeRow): string => `${name} ${migProfile}`;
  const types = new Map([...seen, ...places].map((row) => [typeOf(row), row]));
  return [...types].map(([type, { name, migProfile }]) => {
    const { workers = [], startsMs = [] } = seen.find((row) => typeOf(row) === type) ?? {};
    return { name, migProfile, workers, startsMs, places: places.find((row) => typeOf(row) === type)?.places ?? 0 };
  });
}

/** Returns the GPU types of the last workers. Types of removed machines are left out. */
async function readTypes(sql: Sql, endpointIds: readonly string[]): Promise<SeenRow[]> {
  return sql<SeenRow[]>`
    SELECT e.id, t.name, t.mig AS "migProfile", t.workers, t.starts AS "startsMs"
      FROM unnest(${[...endpointIds]}::text[]) AS e (id) CROSS JOIN LATERAL (
      SELECT g.name, g.mig, coalesce(array_agg(w.id) FILTER (WHERE w.ended_at IS NULL), '{}') AS workers,
        coalesce((array_agg(w.ms ORDER BY w.ready_at DESC)
          FILTER (WHERE w.ready_at IS NOT NULL))[:${STARTS_SEEN_MAX}::int], '{}') AS starts
      FROM (
        SELECT id, machine_id, gpu_uuids[1] AS uuid, ready_at, ended_at,
          (extract(epoch FROM ready_at - created_at) * 1000)::int AS ms FROM worker
        WHERE endpoint_id = e.id AND (ready_at IS NOT NULL OR ended_at IS NULL) ORDER BY created_at DESC
          LIMIT ${WORKERS_SEEN_MAX}) w
      JOIN machine m ON m.id = w.machine_id CROSS JOIN LATERAL (
        SELECT gpu ->> 'name' AS name, coalesce(gpu ->> 'migProfile', '') AS mig FROM jsonb_array_elements(m.gpus) gpu
          WHERE gpu ->> 'uuid' = w.uuid LIMIT 1) g
      GROUP BY 1, 2) t`;
}

/**
 * Returns the number of workers that fit on each type of GPU. GPUs of standby workers count as free. Machines are read
 * once for all endpoints.
 */
async function readPlaces(sql: Sql, endpointIds: readonly string[]): Promise<PlacesRow[]> {
  return sql<PlacesRow[]>`
    WITH free AS MATERIALIZED (
      SELECT m.id, m.locations, gpu ->> 'name' AS name, coalesce(gpu ->> 'migProfile', '') AS mig, count(*)::int AS gpus
      FROM machine m CROSS JOIN LATERAL jsonb_array_elements(m.gpus) gpu
      WHERE m.session_id IS NOT NULL AND m.lease_expires_at > now() AND NOT m.cordoned
        AND coalesce(gpu ->> 'unhealthy', '') = '' AND coalesce(gpu ->> 'occupiedBy', '') = '' AND NOT EXISTS (
        SELECT FROM gpu_hold h LEFT JOIN worker w ON w.id = h.worker_id
        WHERE h.machine_id = m.id AND h.gpu_uuid = gpu ->> 'uuid' AND (coalesce(w.desired, 'RUN') <> 'FREEZE'
          OR w.suspended))
      GROUP BY m.id, 3, 4)
    SELECT e.id, f.name, f.mig AS "migProfile", sum(f.gpus / e.gpu_count)::int AS places
    FROM endpoint e JOIN free f ON e.locations = '{}' OR f.locations && e.locations
      OR ${ANY_HOSTED}::text = ANY(f.locations)
    WHERE e.id = ANY(${[...endpointIds]}) GROUP BY 1, 2, 3`;
}
