/** Stores the operator's prices. */
import { inArray, sql } from '@slipway/drizzle/orm';
import { price } from '@slipway/drizzle/schema/price';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database } from '../sql/database.ts';

/** Price of one unit. */
export type Price = typeof price.$inferSelect;

export class PriceStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns all prices, sorted by item. */
  async list(): Promise<Price[]> {
    return this.#database.db.select().from(price).orderBy(price.item);
  }

  /**
   * Sets prices, all or none. Each item at most once. Running workers and pods keep the price that they started with,
   * which their usage row holds. The audit trail names the items.
   */
  async set(prices: readonly Price[], keyId: string): Promise<void> {
    if (prices.length === 0) return;
    await this.#database.db.transaction(async (tx) => {
      const items = prices.map(({ item }) => item);
      const before = await tx.select().from(price).where(inArray(price.item, items)).for('update');
      const olds = new Map(before.map(({ item, usdPerHour }) => [item, usdPerHour]));
      await tx
        .insert(price)
        .values([...prices])
        .onConflictDoUpdate({ target: price.item, set: { usdPerHour: sql`excluded.usd_per_hour` } });
      const values = Object.fromEntries(
        prices.map(({ item, usdPerHour }) => [item, { old: olds.get(item), new: usdPerHour }]),
      );
      await recordChange(tx, {
        ...{ accountId: '', keyId, action: 'SetPrices', subjectId: 'prices', fields: items, values },
      });
    });
  }
  /** Removes prices, all or none. Returns an item that has none. */
  async delete(items: readonly string[], keyId: string): Promise<string | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const before = await tx
        .select()
        .from(price)
        .where(inArray(price.item, [...items]))
        .orderBy(price.item)
        .for('update');
      const missing = items.find((item) => !before.some((known) => known.item === item));
      if (missing !== undefined) return missing;
      await tx.delete(price).where(inArray(price.item, [...items]));
      const values = Object.fromEntries(before.map(({ item, usdPerHour }) => [item, { old: usdPerHour }]));
      await recordChange(tx, {
        ...{ accountId: '', keyId, action: 'DeletePrices', subjectId: 'prices', fields: items, values },
      });
      return undefined;
    });
  }
}
