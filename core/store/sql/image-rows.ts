/** Reads the image digest of an endpoint's version. image-store.ts resolves it. */
import type { Sql } from './database.ts';

/** The image of one version of an endpoint. */
interface VersionImage {
  endpointId: string;
  version: number;
  imageName: string;
}

/** Returns the resolved digest of a version's image. Empty: not resolved yet. */
export async function resolvedDigest(sql: Sql, { endpointId, version, imageName }: VersionImage): Promise<string> {
  const [row] = await sql<{ digest: string }[]>`
    SELECT digest FROM endpoint_image WHERE endpoint_id = ${endpointId} AND version = ${version}
      AND image_name = ${imageName}`;
  return row?.digest ?? '';
}
