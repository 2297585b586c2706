/**
 * Changes of an endpoint, with their author and the resulting version. Written together with the change.
 */
import { bigserial, boolean, index, integer, jsonb, pgTable, sql, text } from '../orm.ts';
import { instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const endpointRelease = pgTable(
  'endpoint_release',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    /** Version after the change. */
    version: integer('version').notNull(),
    /** True if the version is new: workers of the previous one are replaced. */
    isNew: boolean('is_new').notNull(),
    at: instant('at').notNull().defaultNow(),
    /** The key that was used; `root` for the operator's. */
    keyId: text('key_id').notNull(),
    /** Name of the RPC. */
    action: text('action').notNull(),
    /** Names of the fields that were set. */
    fields: text('fields').array().notNull().default(sql`'{}'`),
    /** Old and new values of changed fields, without secrets. Empty: written by an earlier release. */
    values: jsonb('values').$type<Record<string, { old?: unknown; new?: unknown }>>().notNull().default({}),
    /**
     * Outcome of a new version, as endpoint_rollout has it at the end of its rollout, and why it was put on hold.
     * Empty: not known yet, or no new version.
     */
    outcome: text('outcome').notNull().default(''),
    outcomeReason: text('outcome_reason').notNull().default(''),
  },
  (t) => [index('endpoint_release_endpoint_idx').on(t.endpointId, t.id)],
);
