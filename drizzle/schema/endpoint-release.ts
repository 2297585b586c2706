/**
 * What was changed of an endpoint, by whom, and which version it came to. Written with the change; values are left out.
 */
import { bigserial, boolean, index, integer, pgTable, sql, text } from '../orm.ts';
import { instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const endpointRelease = pgTable(
  'endpoint_release',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    /** Afterwards. */
    version: integer('version').notNull(),
    /** The version is a new one: workers of the one before are replaced. */
    isNew: boolean('is_new').notNull(),
    at: instant('at').notNull().defaultNow(),
    /** The key that was used; `root` for the operator's. */
    keyId: text('key_id').notNull(),
    /** Name of the rpc. */
    action: text('action').notNull(),
    /** Names of the fields that were set. */
    fields: text('fields').array().notNull().default(sql`'{}'`),
    /**
     * What became of a new version, as endpoint_rollout says at the end of its rollout, and why it was held. Empty:
     * nothing yet, or no new version.
     */
    outcome: text('outcome').notNull().default(''),
    outcomeReason: text('outcome_reason').notNull().default(''),
  },
  (t) => [index('endpoint_release_endpoint_idx').on(t.endpointId, t.id)],
);
