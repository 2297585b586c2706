/** What was changed of endpoints, for people. Rows are written by release-rows.ts. */
import { and, desc, eq, lt } from '../../drizzle/orm.ts';
import { endpointRelease } from '../../drizzle/schema/endpoint-release.ts';
import type { Database } from './database.ts';

/** A change, and the version that the endpoint has after it. */
export type Release = typeof endpointRelease.$inferSelect;

export class ReleaseStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The latest changes of an endpoint, at most `limit`, before the one with the id `beforeId`, or 0. */
  async list(endpointId: string, beforeId: number, limit: number): Promise<Release[]> {
    const earlier = beforeId === 0 ? undefined : lt(endpointRelease.id, beforeId);
    return this.#database.db.select().from(endpointRelease).where(and(eq(endpointRelease.endpointId, endpointId), earlier))
      .orderBy(desc(endpointRelease.id)).limit(limit);
  }
}
