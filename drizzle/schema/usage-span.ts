/**
 * Metered spans of use. Triggers on worker, pod and network_volume write them (migration 0001), so every creation, end
 * or deletion of such a row is metered in the same transaction. Kept after the resource and its endpoint are deleted.
 */
import { bigserial, check, doublePrecision, index, integer, pgTable, sql, text, uniqueIndex } from '../orm.ts';
import { account } from './account.ts';
import { instant } from './columns.ts';

export const usageSpan = pgTable(
  'usage_span',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** WORKER, POD or VOLUME. */
    kind: text('kind').notNull(),
    /** Id of the worker, pod or volume. */
    subjectId: text('subject_id').notNull(),
    endpointId: text('endpoint_id').notNull().default(''),
    templateId: text('template_id').notNull().default(''),
    imageName: text('image_name').notNull().default(''),
    /** Locations of its machine, or the volume's data center. */
    locations: text('locations').array().notNull().default(sql`'{}'`),
    /** Type of its GPUs. Empty without a GPU. */
    gpuTypeId: text('gpu_type_id').notNull().default(''),
    gpuCount: integer('gpu_count').notNull().default(0),
    diskGb: integer('disk_gb').notNull().default(0),
    /** Price of all of it together, from the price table when the span began. */
    usdPerHour: doublePrecision('usd_per_hour').notNull().default(0),
    startedAt: instant('started_at').notNull().defaultNow(),
    /** Null: it has not ended. */
    endedAt: instant('ended_at'),
  },
  (t) => [
    index('usage_span_account_idx').on(t.accountId, t.kind, t.startedAt),
    // At most one open span for each resource. The triggers close spans by it.
    uniqueIndex('usage_span_open_unique').on(t.kind, t.subjectId).where(sql`${t.endedAt} IS NULL`),
    check('usage_span_kind_known', sql`${t.kind} IN ('WORKER', 'POD', 'VOLUME')`),
  ],
);
