/** Tokens by which machines join. Only the hash of a token's text is stored. */
import { check, index, integer, pgTable, sql, text } from '../../orm.ts';
import { bytes, instant } from '../columns.ts';

export const joinToken = pgTable(
  'join_token',
  {
    id: text('id').primaryKey(),
    /** SHA-256 of the text, which has 190 random bits. */
    secretHash: bytes('secret_hash').notNull().unique(),
    pool: text('pool').notNull().default(''),
    /** Locations of machines that name none themselves. */
    locations: text('locations').array().notNull().default(sql`'{}'`),
    usesMax: integer('uses_max').notNull(),
    uses: integer('uses').notNull().default(0),
    createdAt: instant('created_at').notNull().defaultNow(),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    index('join_token_expiry_idx').on(t.expiresAt),
    check('join_token_uses_fit', sql`${t.uses} BETWEEN 0 AND ${t.usesMax}`),
  ],
);
