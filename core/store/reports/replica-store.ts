/** Stores which core replicas run. */
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { Database, Sql } from '../sql/database.ts';

/** Most replicas that are read. */
const REPLICAS_MAX = 64;

export class ReplicaStore {
  readonly #sql: Sql;

  constructor({ sql }: Pick<Database, 'sql'>) {
    this.#sql = sql;
  }

  /**
   * Records that a replica runs, and removes replicas that have not said so for long. Returns the addresses of all.
   * Never waits for the row of a replica that is recorded at the same moment, because that one may wait for ours.
   */
  async beat(address: string): Promise<string[]> {
    const validSeconds = LINK_TIMERS.replicaValidMs / 1_000;
    const rows = await this.#sql<{ address: string }[]>`
      WITH own AS (
        INSERT INTO core_replica (address) VALUES (${address})
        ON CONFLICT (address) DO UPDATE SET seen_at = now()
        RETURNING address
      ), gone AS (
        DELETE FROM core_replica WHERE address IN (
          SELECT address FROM core_replica
          WHERE address <> ${address} AND seen_at < now() - ${validSeconds}::float8 * interval '1 second'
          FOR UPDATE SKIP LOCKED
        )
      )
      SELECT address FROM own
      UNION
      SELECT address FROM core_replica WHERE seen_at >= now() - ${validSeconds}::float8 * interval '1 second'
      ORDER BY address LIMIT ${REPLICAS_MAX}`;
    return rows.map((row) => row.address);
  }

  /** Returns the addresses of all replicas, without a record of the caller. */
  async list(): Promise<string[]> {
    const validSeconds = LINK_TIMERS.replicaValidMs / 1_000;
    const rows = await this.#sql<{ address: string }[]>`
      SELECT address FROM core_replica WHERE seen_at >= now() - ${validSeconds}::float8 * interval '1 second'
      ORDER BY address LIMIT ${REPLICAS_MAX}`;
    return rows.map((row) => row.address);
  }

  /** Removes a replica that stops. */
  async leave(address: string): Promise<void> {
    await this.#sql`DELETE FROM core_replica WHERE address = ${address}`;
  }
}
