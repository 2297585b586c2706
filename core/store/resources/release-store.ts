/**
 * Reads the changes of endpoints and their rollouts, and rolls back. Rows of changes are written by release-rows.ts.
 */
import { and, desc, eq, lt, sql } from '@slipway/drizzle/orm';
import { apiKey } from '@slipway/drizzle/schema/api-key';
import { endpointRelease } from '@slipway/drizzle/schema/endpoint-release';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Rollout } from '../../domain/scaling/rollout-settings.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database } from '../sql/database.ts';
import { retryOnDeadlock } from '../sql/transient.ts';
import { recordReleases } from './release-rows.ts';

/** A change, and the endpoint version after it. */
export type Release = typeof endpointRelease.$inferSelect & {
  /** Digest of the version's image. Empty: not resolved, no longer stored, or no image. */
  imageDigest: string;
  /** An endpoint of the account has resolved the same image name to another digest later. */
  imageMoved: boolean;
  /** Empty for the operator's key, and if the key no longer exists. */
  keyName: string;
};

export class ReleaseStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the latest changes of an endpoint, at most `limit`. `beforeId`: only changes before this id; 0: all. */
  async list(endpointId: string, beforeId: number, limit: number): Promise<Release[]> {
    const earlier = beforeId === 0 ? undefined : lt(endpointRelease.id, beforeId);
    const image = (column: 'digest' | 'image_name') => sql<string>`coalesce((SELECT i.${sql.raw(column)}
      FROM endpoint_image i WHERE i.endpoint_id = ${endpointRelease.endpointId}
        AND i.version = ${endpointRelease.version} ORDER BY i.settled_at DESC LIMIT 1), '')`;
    const rows = await this.#database.db
      .select({
        release: endpointRelease,
        digest: image('digest'),
        imageName: image('image_name'),
        keyName: apiKey.name,
      })
      .from(endpointRelease)
      .leftJoin(apiKey, eq(apiKey.id, endpointRelease.keyId))
      .where(and(eq(endpointRelease.endpointId, endpointId), earlier))
      .orderBy(desc(endpointRelease.id))
      .limit(limit);
    const latest = await this.#latestDigests(endpointId);
    return rows.map(({ release, digest: imageDigest, imageName, keyName }) => ({
      ...release,
      imageDigest,
      imageMoved: imageDigest !== '' && latest.get(imageName) !== imageDigest,
      keyName: keyName ?? '',
    }));
  }

  /** Returns the latest digest of each image name of an endpoint that an endpoint of its account has resolved. */
  async #latestDigests(endpointId: string): Promise<Map<string, string>> {
    const rows = await this.#database.sql<{ name: string; digest: string }[]>`
      SELECT DISTINCT ON (i.image_name) i.image_name AS name, i.digest
      FROM endpoint e JOIN endpoint o ON o.account_id = e.account_id JOIN endpoint_image i ON i.endpoint_id = o.id
      WHERE e.id = ${endpointId}
        AND i.image_name IN (SELECT own.image_name FROM endpoint_image own WHERE own.endpoint_id = ${endpointId})
      ORDER BY i.image_name, i.settled_at DESC`;
    return new Map(rows.map(({ name, digest }) => [name, digest]));
  }

  /** Returns the rollouts of these endpoints that are not complete. */
  async rollouts(endpointIds: readonly string[]): Promise<Map<string, Rollout>> {
    const rows = await this.#database.sql<(Rollout & { endpointId: string })[]>`
      SELECT endpoint_id AS "endpointId", version, state, good_version AS "goodVersion", room_made AS "roomMade",
        checked, reason,
        (extract(epoch FROM now() - since) * 1000)::bigint AS "ageMs"
      FROM endpoint_rollout WHERE endpoint_id = ANY(${[...endpointIds]}) AND state <> 'COMPLETE'`;
    return new Map(rows.map(({ endpointId, ...rollout }) => [endpointId, rollout]));
  }

  /**
   * Rolls an endpoint back to a good version under its lock. `choose` gets its version, its rollout and the stored
   * versions. Returns false if there is no such endpoint in this account.
   */
  async rollBack(
    id: string,
    actor: Actor,
    choose: (version: number, rollout: Rollout | undefined, kept: readonly number[]) => number,
  ): Promise<boolean> {
    return retryOnDeadlock(() =>
      this.#database.db.transaction(async (tx) => {
        const [found] = await tx.execute<{ version: number }>(sql`
        SELECT version FROM endpoint WHERE id = ${id} AND account_id = ${actor.accountId} FOR UPDATE`);
        if (!found) return false;
        const [rollout] = await tx.execute<Rollout & Record<string, unknown>>(sql`
        SELECT version, state, good_version AS "goodVersion", room_made AS "roomMade", checked, reason, 0 AS "ageMs"
        FROM endpoint_rollout WHERE endpoint_id = ${id}`);
        const kept = await tx.execute<{ version: number }>(
          sql`SELECT version FROM endpoint_version WHERE endpoint_id = ${id}`,
        );
        const to = choose(
          found.version,
          rollout,
          kept.map(({ version }) => version),
        );
        await tx.execute(sql`
        INSERT INTO endpoint_rollout (endpoint_id, version, state, good_version)
          VALUES (${id}, ${found.version}, 'ROLLED_BACK', ${to})
        ON CONFLICT (endpoint_id) DO UPDATE SET (version, state, good_version, room_made, reason, since)
          = (excluded.version, excluded.state, excluded.good_version, false, '', now())`);
        await tx.execute(sql`UPDATE endpoint_release SET outcome = 'ROLLED_BACK', outcome_reason = ''
        WHERE endpoint_id = ${id} AND version = ${found.version} AND is_new`);
        await recordChange(tx, { ...actor, action: 'RollBackEndpoint', subjectId: id, fields: [] });
        await recordReleases(tx, { keyId: actor.keyId, action: 'RollBackEndpoint', fields: [], isNew: false }, [
          { id, version: to },
        ]);
        return true;
      }),
    );
  }
}
