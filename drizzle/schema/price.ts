/** What the operator charges. Items without a row cost nothing. */
import { check, doublePrecision, pgTable, sql, text } from '../orm.ts';

export const price = pgTable(
  'price',
  {
    /** A GPU type name, CPU, or VOLUME_GB. */
    item: text('item').primaryKey(),
    /** US dollars for one of it during one hour. */
    usdPerHour: doublePrecision('usd_per_hour').notNull(),
  },
  (t) => [check('price_in_range', sql`${t.usdPerHour} BETWEEN 0 AND 1000000`)],
);
