/** What was changed of endpoints. Each row is written in the transaction of its change. */
import { and, desc, eq, lt, sql } from '../../drizzle/orm.ts';
import { endpointRelease } from '../../drizzle/schema/endpoint-release.ts';
import type { Database, Transaction } from './database.ts';

/** Changes that are kept of an endpoint; the oldest go first. */
const KEPT_MAX = 1_000;

/** A change, and the version that the endpoint has after it. */
export type Release = typeof endpointRelease.$inferSelect;

/** What was done to endpoints at once. */
export interface NewRelease {
  keyId: string;
  /** Name of the rpc. */
  action: string;
  fields: readonly string[];
  isNew: boolean;
}

/** Records a change of endpoints; `tx` is the transaction that makes it. */
export async function recordReleases(tx: Transaction, release: NewRelease, endpoints: readonly { id: string; version: number }[]): Promise<void> {
  if (endpoints.length === 0) return;
  const { fields, ...rest } = release;
  await tx.insert(endpointRelease).values(endpoints.map(({ id, version }) => ({ ...rest, fields: [...fields], endpointId: id, version })));
  for (const { id } of endpoints) {
    await tx.execute(sql`DELETE FROM endpoint_release WHERE endpoint_id = ${id} AND id <= (
      SELECT id FROM endpoint_release WHERE endpoint_id = ${id} ORDER BY id DESC OFFSET ${KEPT_MAX} LIMIT 1)`);
  }
}

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
