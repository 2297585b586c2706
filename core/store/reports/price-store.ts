/** The operator's prices. */
import { sql } from '@slipway/drizzle/orm';
import { price } from '@slipway/drizzle/schema/price';
import type { Database } from '../sql/database.ts';

/** What one unit costs. */
export type Price = typeof price.$inferSelect;

export class PriceStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All prices by item. */
  async list(): Promise<Price[]> {
    return this.#database.db.select().from(price).orderBy(price.item);
  }

  /**
   * Sets prices, all or none; each item at most once. What runs already keeps the price it began with: its usage row
   * carries it.
   */
  async set(prices: readonly Price[]): Promise<void> {
    if (prices.length === 0) return;
    await this.#database.db
      .insert(price)
      .values([...prices])
      .onConflictDoUpdate({ target: price.item, set: { usdPerHour: sql`excluded.usd_per_hour` } });
  }
}
