/** Prices of the operator. Items without a row cost nothing. */
import { check, doublePrecision, pgTable, sql, text } from '../orm.ts';

export const price = pgTable(
  'price',
  {
    /** A GPU type name, CPU, or VOLUME_GB. */
    item: text('item').primaryKey(),
    /** Price of one unit of the item, in US dollars per hour. */
    usdPerHour: doublePrecision('usd_per_hour').notNull(),
  },
  (t) => [check('price_in_range', sql`${t.usdPerHour} BETWEEN 0 AND 1000000`)],
);
