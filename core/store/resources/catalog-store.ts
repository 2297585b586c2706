/** Reads data of the catalog that no other store reads. */
import { eq } from '@slipway/drizzle/orm';
import { networkVolume } from '@slipway/drizzle/schema/network-volume';
import type { Database } from '../sql/database.ts';

export class CatalogStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns the data centers of an account's network volumes, each once. The operator, who has no account, gets those
   * of all.
   */
  async volumeDataCenters(accountId: string): Promise<string[]> {
    const rows = await this.#database.db
      .selectDistinct({ id: networkVolume.dataCenterId })
      .from(networkVolume)
      .where(accountId === '' ? undefined : eq(networkVolume.accountId, accountId));
    return rows.map((row) => row.id);
  }
}
