/** Reads the start specs of workers: the version that they run, their environment, GPUs and network volume. */

import type { GpuRow } from '@slipway/drizzle/schema/machine';
import type { Sealer } from '@slipway/kit/host/seal';
import type { StartVariables } from '../../domain/resources/secret-reference.ts';
import { endpointEnvIdentity, templateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { openEnv, overTemplate } from '../sql/env-seals.ts';
import { repositoryOf, revisionOf } from '../sql/model-rows.ts';

/** Start spec of a worker, from the current endpoint and template or the stored version. */
export interface WorkerSpecRow {
  id: string;
  startCommand: string[];
  workingDirectory: string;
  imageName: string;
  /** Its models, with the resolved commits. Empty commit: not resolved yet. */
  models: { repository: string; revision: string; commit: string }[];
  /** Resolved digest of the image. Empty: not resolved yet. */
  imageDigest: string;
  entrypoint: string[];
  containerDiskGb: number;
  ports: string[];
  /** Type of the endpoint. */
  type: 'QB' | 'LB';
  /** The template's environment, overridden by the endpoint's, with references to secrets. */
  start: StartVariables;
  accountId: string;
  gpuUuids: string[];
  /** Size of the worker. Empty: none. */
  instanceId: string;
  concurrency: number;
  version: number;
  /** Number of the endpoint's account. */
  accountNumber: number;
  /** GPUs of its machine. */
  gpus: GpuRow[];
  /** The endpoint's network volume in the data center of the machine. */
  networkVolumeId: string | null;
  /** Size of the network volume. Null without one. */
  networkVolumeGb: number | null;
  /** The template's registry credentials. Null: none, or the template is a public one of another account. */
  registryAuthId: string | null;
  credentialsSealed: Buffer | null;
  /** Name of the credentials. */
  registryAuthName: string | null;
}

/** Environment of a worker, encrypted or in plaintext, and the ids that the encryption is bound to. */
interface WorkerEnvRow {
  templateId: string;
  endpointId: string;
  templateEnv: Record<string, string>;
  endpointEnv: Record<string, string>;
  templateEnvSealed: Buffer | null;
  endpointEnvSealed: Buffer | null;
  /** True if the template is another account's. */
  isForeign: boolean;
}

/**
 * Returns the SQL of what a worker of an endpoint `e` runs (`run`) and the variables that are its own (`own`): from the
 * stored version `k` if there is one, else from the current endpoint and template.
 */
function workerProgram(sql: Sql): Fragment {
  return sql`CROSS JOIN LATERAL (
      SELECT k.template_id, k.start_command, k.working_directory, k.image_name, k.entrypoint, '{}'::jsonb AS env,
        k.template_env_sealed AS env_sealed,
        k.container_disk_gb, k.ports, k.registry_auth_id WHERE k.version IS NOT NULL
      UNION ALL SELECT t.id, g.start_command, g.working_directory, g.image_name, g.entrypoint, g.env, g.env_sealed,
      g.container_disk_gb, g.ports,
        t.registry_auth_id FROM given_template g JOIN template t ON t.id = e.template_id WHERE g.endpoint_id = e.id
          AND k.version IS NULL
      UNION ALL SELECT t.id, t.start_command, t.working_directory, t.image_name, t.entrypoint, t.env, t.env_sealed,
      t.container_disk_gb, t.ports,
        t.registry_auth_id FROM template t
      WHERE t.id = e.template_id AND k.version IS NULL AND NOT EXISTS (SELECT FROM given_template g
        WHERE g.endpoint_id = e.id)
    ) run CROSS JOIN LATERAL (
      SELECT '{}'::jsonb AS env, k.endpoint_env_sealed AS env_sealed, k.worker_concurrency, k.network_volume_ids,
        k.model_references WHERE k.version IS NOT NULL
      UNION ALL SELECT e.env, e.env_sealed, e.worker_concurrency, e.network_volume_ids, e.model_references
      WHERE k.version IS NULL
    ) own`;
}

/** Returns the models of a worker `w` of an endpoint `e`, by the references in `own`. */
function workerModels(sql: Sql): Fragment {
  const [repository, revision] = [repositoryOf(sql, sql`r.text`), revisionOf(sql, sql`r.text`)];
  return sql`coalesce((
    SELECT jsonb_agg(jsonb_build_object('repository', ${repository}, 'revision', ${revision},
      'commit', coalesce(s.commit, '')) ORDER BY r.place)
    FROM unnest(own.model_references) WITH ORDINALITY AS r (text, place) LEFT JOIN endpoint_model s
      ON s.endpoint_id = e.id AND s.version = w.version AND s.repository = ${repository} AND s.revision = ${revision}),
    '[]')`;
}

/** Returns the start specs of these workers. */
export async function readWorkerSpecs(
  sql: Sql,
  sealer: Sealer,
  workerIds: readonly string[],
): Promise<WorkerSpecRow[]> {
  const rows = await sql<(Omit<WorkerSpecRow, 'start'> & WorkerEnvRow)[]>`
      SELECT w.id, run.template_id AS "templateId", run.start_command AS "startCommand",
        run.working_directory AS "workingDirectory",
        run.image_name AS "imageName", run.entrypoint, run.env AS "templateEnv", run.env_sealed AS "templateEnvSealed",
        run.container_disk_gb AS "containerDiskGb", run.ports,
        coalesce((SELECT i.digest FROM endpoint_image i WHERE i.endpoint_id = e.id AND i.version = w.version
          AND i.image_name = run.image_name), '')
          AS "imageDigest",
        e.type, e.id AS "endpointId", own.env AS "endpointEnv", own.env_sealed AS "endpointEnvSealed",
        w.gpu_uuids AS "gpuUuids", w.instance_id AS "instanceId", own.worker_concurrency AS concurrency, w.version,
        m.gpus, a.number AS "accountNumber", e.account_id AS "accountId",
        coalesce((SELECT t.account_id FROM template t WHERE t.id = run.template_id), e.account_id) <> e.account_id
          AS "isForeign",
        (SELECT v.id FROM network_volume v WHERE v.id = ANY(own.network_volume_ids)
          AND v.data_center_id = ANY(m.locations)
          ORDER BY array_position(own.network_volume_ids, v.id) LIMIT 1) AS "networkVolumeId",
        (SELECT v.size_gb FROM network_volume v WHERE v.id = ANY(own.network_volume_ids)
          AND v.data_center_id = ANY(m.locations)
          ORDER BY array_position(own.network_volume_ids, v.id) LIMIT 1) AS "networkVolumeGb",
        ${workerModels(sql)} AS models,
        r.id AS "registryAuthId", r.credentials_sealed AS "credentialsSealed", r.name AS "registryAuthName"
      FROM worker w JOIN endpoint e ON e.id = w.endpoint_id JOIN machine m ON m.id = w.machine_id
        LEFT JOIN endpoint_version k ON k.endpoint_id = w.endpoint_id AND k.version = w.version
          AND k.version <> e.version
        ${workerProgram(sql)}
        JOIN account a ON a.id = e.account_id LEFT JOIN registry_auth r ON r.id = run.registry_auth_id
          AND r.account_id = e.account_id
      WHERE w.id = ANY(${[...workerIds]})`;
  return rows.map(
    ({
      templateId,
      endpointId,
      isForeign,
      templateEnv,
      endpointEnv,
      templateEnvSealed,
      endpointEnvSealed,
      ...row
    }) => ({
      ...row,
      start: overTemplate(
        openEnv(sealer, { env: templateEnv, envSealed: templateEnvSealed }, templateEnvIdentity(templateId)),
        openEnv(sealer, { env: endpointEnv, envSealed: endpointEnvSealed }, endpointEnvIdentity(endpointId)),
        isForeign,
      ),
    }),
  );
}
