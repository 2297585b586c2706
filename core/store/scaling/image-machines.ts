/** Reads which machines have the images of endpoints, for placement. */
import { GONE_AFTER_MINUTES } from '../../domain/scaling/placement.ts';
import type { PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import { isLocalImage, reportedName } from '../../domain/scaling/placement-machine.ts';
import type { Sql } from '../sql/database.ts';

/** A version of an endpoint with its image. */
export interface ImageVersion extends Pick<PlacementRequest, 'imageName'> {
  id: string;
  version: number;
}

/** Machines that have the image, by the version of an endpoint. */
export class ImageMachines {
  readonly #machines = new Map<string, Set<string>>();

  /** Records that a machine has the image of a version. */
  add({ id, version }: Omit<ImageVersion, 'imageName'>, machineId: string): void {
    const key = `${id} ${version}`;
    this.#machines.set(key, (this.#machines.get(key) ?? new Set()).add(machineId));
  }

  /** Returns the ids of the machines that have the image of a version, `undefined` if none has. */
  of({ id, version }: Omit<ImageVersion, 'imageName'>): ReadonlySet<string> | undefined {
    return this.#machines.get(`${id} ${version}`);
  }
}

/** Returns the machines that have the images of these versions, by digest if it is resolved. */
export async function readImageMachines(sql: Sql, versions: readonly ImageVersion[]): Promise<ImageMachines> {
  const machines = new ImageMachines();
  const asking = versions.filter(({ imageName }) => imageName !== '');
  if (asking.length === 0) return machines;
  const rows = await sql<{ id: string; version: number; machineId: string }[]>`
    SELECT e.id, e.version, i.machine_id AS "machineId"
    FROM unnest(${asking.map(({ id }) => id)}::text[], ${asking.map(({ version }) => version)}::int[],
      ${asking.map(({ imageName }) => imageName)}::text[],
      ${asking.map(({ imageName }) => reportedName(imageName))}::text[])
      AS e (id, version, image_name, reported_name)
    LEFT JOIN endpoint_image s ON s.endpoint_id = e.id AND s.version = e.version AND s.image_name = e.image_name
    JOIN machine_image i ON CASE WHEN coalesce(s.digest, '') = '' THEN i.name = e.reported_name
      ELSE i.digest = s.digest END`;
  for (const { machineId, ...version } of rows) machines.add(version, machineId);
  return machines;
}

/**
 * Returns the machines where workers of these endpoints cannot start because the image is only on others, by the id of
 * the endpoint: the same as `whereImageIs`, for requests that are not seen with their own images.
 */
export async function readMachinesWithout(
  sql: Sql,
  endpoints: readonly Pick<ImageVersion, 'id' | 'imageName'>[],
): Promise<Map<string, string[]>> {
  const asking = endpoints.filter(({ imageName }) => isLocalImage(imageName));
  if (asking.length === 0) return new Map();
  const rows = await sql<{ id: string; machineIds: string[] }[]>`
    SELECT e.id, array_agg(m.id ORDER BY m.id) AS "machineIds"
    FROM unnest(${asking.map(({ id }) => id)}::text[],
      ${asking.map(({ imageName }) => reportedName(imageName))}::text[]) AS e (id, image_name)
    CROSS JOIN machine m
    WHERE m.engine ->> 'name' IS DISTINCT FROM 'kubernetes' AND m.seen_at > now() - interval '1 day'
      AND NOT EXISTS (SELECT FROM machine_image i WHERE i.machine_id = m.id AND i.name = e.image_name)
      AND EXISTS (SELECT FROM machine_image i JOIN machine o ON o.id = i.machine_id
          AND o.seen_at >= now() - ${GONE_AFTER_MINUTES}::int * interval '1 min'
        WHERE i.name = e.image_name)
    GROUP BY e.id`;
  return new Map(rows.map(({ id, machineIds }) => [id, machineIds]));
}
