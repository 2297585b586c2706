/**
 * Rollouts of endpoints: their states, and copies of their good versions. Statements run inside the transaction of a
 * release or a reconcile.
 */
import type { RolloutStep } from '../../domain/scaling/rollout.ts';
import type { RolloutState } from '../../domain/scaling/rollout-settings.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { modelBytes } from '../sql/model-rows.ts';

/** Number of good versions per endpoint to which a rollback may return. Older ones are deleted. */
const VERSIONS_KEPT = 10;
/** Maximum length of the stored reason of a hold, in characters. */
const REASON_LENGTH_MAX = 2_000;

/** The step of a rollout in a reconcile. */
export interface SteppedRollout {
  endpointId: string;
  /** The released version. */
  version: number;
  step: RolloutStep;
}

/**
 * Returns the rollout of an endpoint `e` as JSON, null if there is none or if it is complete. Includes the requirements
 * of the good version if that is another.
 */
export function rolloutColumns(sql: Sql): Fragment {
  return sql`
    CASE WHEN r.endpoint_id IS NULL OR (r.version = e.version AND r.state = 'COMPLETE') THEN NULL
      ELSE jsonb_build_object(
      'version', r.version, 'state', r.state, 'goodVersion', r.good_version, 'roomMade', r.room_made, 'checked',
      r.checked, 'reason', r.reason,
      'ageMs', (extract(epoch FROM now() - r.since) * 1000)::bigint) END AS "keptRollout",
    CASE WHEN g.version IS NULL THEN NULL ELSE jsonb_build_object('version', g.version, 'imageName', g.image_name,
      'gpuIds', to_jsonb(g.gpu_ids),
      'gpuCount', g.gpu_count, 'instanceIds', to_jsonb(g.instance_ids), 'locations', to_jsonb(g.locations),
      'allowedCudaVersions', to_jsonb(g.allowed_cuda_versions),
      'modelReferences', to_jsonb(g.model_references), 'modelBytes', ${modelBytes(sql, sql`g.model_references`)},
      'dataCenterIds',
      to_jsonb(ARRAY(SELECT v.data_center_id FROM network_volume v WHERE v.id = ANY(g.network_volume_ids)
        ORDER BY v.id))) END AS good`;
}

/** Returns the joins for `rolloutColumns`, to follow `endpoint e`. */
export function rolloutJoins(sql: Sql): Fragment {
  return sql`LEFT JOIN endpoint_rollout r ON r.endpoint_id = e.id
    LEFT JOIN endpoint_version g ON g.endpoint_id = e.id AND g.version = r.good_version AND g.version <> e.version`;
}

/** Writes steps of rollouts. The caller has locked the endpoints. */
export async function writeRollouts(sql: Sql, rollouts: readonly SteppedRollout[]): Promise<void> {
  for (const { endpointId, version, step } of rollouts) {
    const state = step.state ?? null;
    const isGood = state === 'COMPLETE' && (await keepVersion(sql, endpointId, version));
    const reason = sql`coalesce((SELECT left(w.reason, ${REASON_LENGTH_MAX}) FROM worker w
      WHERE w.id = ${step.failedId ?? ''}), '')`;
    await sql`
      UPDATE endpoint_rollout SET state = coalesce(${state}, CASE WHEN version = ${version}::int THEN state
        ELSE 'CHECKING' END), version = ${version}::int,
        since = CASE WHEN version = ${version}::int AND state = coalesce(${state}, state) THEN since ELSE now() END,
        reason = ${reason},
        room_made = ${step.roomMade === true} OR (room_made AND ${state}::text IS NULL), checked = checked
          OR ${step.checked === true},
        good_version = CASE WHEN ${isGood} THEN ${version}::int ELSE good_version END
      WHERE endpoint_id = ${endpointId}`;
    if (state !== null) await writeOutcome(sql, endpointId, version, state);
  }
}

/** Returns the result of a release, for people. */
async function writeOutcome(sql: Sql, endpointId: string, version: number, state: RolloutState): Promise<void> {
  await sql`
    UPDATE endpoint_release l SET outcome = ${state}, outcome_reason = r.reason FROM endpoint_rollout r
    WHERE r.endpoint_id = ${endpointId} AND l.endpoint_id = r.endpoint_id AND l.version = ${version}::int AND l.is_new`;
}

/**
 * Stores a copy of the current version as good. Returns `false` if the endpoint has another version by now, or if an
 * environment is still in plaintext.
 */
async function keepVersion(sql: Sql, endpointId: string, version: number): Promise<boolean> {
  const [kept] = await sql`
    INSERT INTO endpoint_version (endpoint_id, version, template_id, image_name, start_command, entrypoint,
      working_directory, container_disk_gb, ports,
      registry_auth_id, template_env_sealed, endpoint_env_sealed, gpu_ids, gpu_count, instance_ids, locations,
      network_volume_ids, allowed_cuda_versions,
      worker_concurrency, model_references)
    SELECT e.id, e.version, t.id, run.image_name, run.start_command, run.entrypoint, run.working_directory,
      run.container_disk_gb, run.ports,
      t.registry_auth_id, run.env_sealed, e.env_sealed, e.gpu_ids, e.gpu_count, e.instance_ids, e.locations,
      e.network_volume_ids,
      e.allowed_cuda_versions, e.worker_concurrency, e.model_references
    FROM endpoint e JOIN template t ON t.id = e.template_id CROSS JOIN LATERAL (
      SELECT image_name, start_command, entrypoint, working_directory, container_disk_gb, ports, env, env_sealed
        FROM given_template WHERE endpoint_id = e.id
      UNION ALL SELECT t.image_name, t.start_command, t.entrypoint, t.working_directory, t.container_disk_gb, t.ports,
      t.env, t.env_sealed
      WHERE NOT EXISTS (SELECT FROM given_template WHERE endpoint_id = e.id)) run
    WHERE e.id = ${endpointId} AND e.version = ${version}::int AND e.env = '{}' AND run.env = '{}'
    ON CONFLICT (endpoint_id, version) DO UPDATE SET good_at = now() RETURNING version`;
  if (!kept) return false;
  await sql`
    DELETE FROM endpoint_version WHERE endpoint_id = ${endpointId} AND version <= (
      SELECT version FROM endpoint_version WHERE endpoint_id = ${endpointId}
        ORDER BY version DESC OFFSET ${VERSIONS_KEPT} LIMIT 1)`;
  return true;
}
