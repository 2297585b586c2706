/**
 * Stores images: the digest of an image for a version of an endpoint or a run of a pod, the images of machines, and the
 * images that endpoints name.
 */

import type { EngineRow } from '@slipway/drizzle/schema/machine';
import type { PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import { asked } from '../scaling/placement-view.ts';
import type { Database } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import type { MachineSession } from './machine-store.ts';

/** An image that a machine has. */
export interface MachineImageFacts {
  name: string;
  /** Empty: it was not pulled from a registry. */
  digest: string;
  sizeBytes: number;
}

/** Container engine and images of a machine. */
export interface ContainerFacts {
  /** Null: there is no container engine. */
  engine: EngineRow | null;
  noEngineReason: string;
  images: readonly MachineImageFacts[];
}

/** Digest of an image name, as a machine reported it. */
interface ImageClaim {
  machineId: string;
  imageName: string;
  digest: string;
}

/** An image that an endpoint runs, with the endpoint's requirements on machines. */
export interface NamedImage extends PlacementRequest {
  id: string;
  /** Empty: not resolved yet. */
  digest: string;
  /** Credentials for its registry. Null: none. */
  registryAuthId: string | null;
  credentialsSealed: Buffer | null;
}

/** Most endpoints whose images are read: the latest ones. */
const ENDPOINTS_MAX = 10_000;

export class ImageStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Resolves the digest of an image for a version of an endpoint. The first report wins. Returns `undefined` if the
   * machine has no worker of that version.
   */
  async resolveVersion(
    { machineId, imageName, digest }: ImageClaim,
    endpointId: string,
    version: number,
  ): Promise<string | undefined> {
    const { sql } = this.#database;
    const [row] = await sql<{ digest: string }[]>`
      INSERT INTO endpoint_image AS i (endpoint_id, version, image_name, digest)
      SELECT ${endpointId}, ${version}::int, ${imageName}, ${digest} WHERE EXISTS (SELECT FROM worker w
        WHERE w.endpoint_id = ${endpointId} AND w.machine_id = ${machineId} AND w.version = ${version}
          AND w.ended_at IS NULL AND w.endpoint_id <> '')
      ON CONFLICT (endpoint_id, version, image_name) DO UPDATE SET digest = i.digest RETURNING digest`;
    // Delete earlier versions that nothing runs any more: their digest is not needed again.
    if (row?.digest === digest) {
      await sql`DELETE FROM endpoint_image WHERE endpoint_id = ${endpointId}
        AND version < (SELECT min(version) FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL
          AND endpoint_id <> '')
        AND version NOT IN (SELECT version FROM endpoint_version WHERE endpoint_id = ${endpointId})`;
    }
    return row?.digest;
  }

  /**
   * Resolves the digest of an image for a run of a pod. The first report wins. Returns `undefined` if this is not the
   * pod's current run on the machine.
   */
  async resolveRun({ machineId, digest }: ImageClaim, podId: string, run: number): Promise<string | undefined> {
    const [row] = await this.#database.sql<{ digest: string }[]>`
      UPDATE pod SET image_digest = CASE WHEN image_digest_run = run THEN image_digest ELSE ${digest} END,
        image_digest_run = run
      WHERE id = ${podId} AND machine_id = ${machineId} AND run = ${run}::int RETURNING image_digest AS digest`;
    return row?.digest;
  }

  /** Stores what a machine reported about containers, unless a later session owns the machine. */
  async report(
    { machineId, sessionId }: MachineSession,
    { engine, noEngineReason, images }: ContainerFacts,
  ): Promise<void> {
    await inTransaction(this.#database.sql, async (sql) => {
      const [own] = await sql`
        UPDATE machine SET engine = ${engine && JSON.stringify(engine)}::text::jsonb,
          no_engine_reason = ${noEngineReason}
        WHERE id = ${machineId} AND coalesce(session_id, ${sessionId}) = ${sessionId} RETURNING id`;
      if (!own) return;
      await sql`DELETE FROM machine_image WHERE machine_id = ${machineId}
        AND name <> ALL(${images.map(({ name }) => name)})`;
      await sql`
        INSERT INTO machine_image AS i (machine_id, name, digest, size_bytes)
        SELECT ${machineId}, name, digest, size_bytes FROM unnest(${images.map(({ name }) => name)}::text[],
          ${images.map(({ digest }) => digest)}::text[],
          ${images.map(({ sizeBytes }) => sizeBytes)}::bigint[]) AS r (name, digest, size_bytes)
        ON CONFLICT (machine_id, name) DO UPDATE SET digest = excluded.digest, size_bytes = excluded.size_bytes
        WHERE (i.digest, i.size_bytes) IS DISTINCT FROM (excluded.digest, excluded.size_bytes)`;
    });
  }

  /**
   * Returns endpoints that run images and may have workers, the latest first. One whose release is not complete is
   * returned a second time, with the image of its good version.
   */
  async named(): Promise<NamedImage[]> {
    const { sql } = this.#database;
    return sql<NamedImage[]>`
      SELECT * FROM (SELECT ${asked(sql)}, e.created_at, coalesce(i.digest, '') AS digest,
          r.id AS "registryAuthId", r.credentials_sealed AS "credentialsSealed"
        FROM endpoint e JOIN template t ON t.id = e.template_id LEFT JOIN registry_auth r ON r.id = t.registry_auth_id
          AND r.account_id = e.account_id
          LEFT JOIN given_template g ON g.endpoint_id = e.id
          LEFT JOIN endpoint_image i ON i.endpoint_id = e.id AND i.version = e.version
            AND i.image_name = coalesce(g.image_name, t.image_name)
        WHERE e.workers_max > 0
        UNION ALL SELECT e.id, k.gpu_ids, k.gpu_count, k.instance_ids, k.locations, k.allowed_cuda_versions,
          ARRAY(SELECT v.data_center_id FROM network_volume v WHERE v.id = ANY(k.network_volume_ids) ORDER BY v.id),
          k.image_name, e.execution_timeout_ms, k.model_references, 0::bigint, e.created_at,
          coalesce(i.digest, ''), r.id, r.credentials_sealed
        FROM endpoint_rollout o JOIN endpoint e ON e.id = o.endpoint_id AND e.version <> o.good_version
          AND e.workers_max > 0
          JOIN endpoint_version k ON k.endpoint_id = e.id AND k.version = o.good_version
          LEFT JOIN registry_auth r ON r.id = k.registry_auth_id AND r.account_id = e.account_id
          LEFT JOIN endpoint_image i ON i.endpoint_id = e.id AND i.version = k.version AND i.image_name = k.image_name)
            named
      WHERE "imageName" <> '' ORDER BY created_at DESC, id LIMIT ${ENDPOINTS_MAX}`;
  }

  /** Returns the images of the pods of these machines. */
  async ofPods(machineIds: readonly string[]): Promise<{ machineId: string; imageName: string; digest: string }[]> {
    return this.#database.sql<{ machineId: string; imageName: string; digest: string }[]>`
      SELECT machine_id AS "machineId", image_name AS "imageName", CASE WHEN image_digest_run = run THEN image_digest
        ELSE '' END AS digest
      FROM pod WHERE machine_id = ANY(${[...machineIds]}) AND image_name <> '' ORDER BY created_at DESC, id`;
  }
}
