/** Batches: many requests that run as jobs with lowPriority. */
import { bigint, check, index, integer, jsonb, pgTable, primaryKey, sql, text, uniqueIndex } from '../../orm.ts';
import { account } from '../account.ts';
import { bytes, instant } from '../columns.ts';

export const batch = pgTable(
  'batch',
  {
    /** `batch_` and 24 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** The key that created it. Keys for some endpoints see only their own batches. */
    keyId: text('key_id').notNull(),
    /** Endpoints of that key. Empty: all of the account. */
    endpointIds: text('endpoint_ids').array().notNull().default(sql`'{}'`),
    /** OPENAI: requests of an uploaded file, for a model. ENDPOINT: requests for one endpoint. */
    kind: text('kind').notNull(),
    /** Of OPENAI: path of the requests, for instance /v1/embeddings. */
    route: text('route').notNull().default(''),
    /** Of OPENAI: the model of all requests, known after validation. */
    model: text('model').notNull().default(''),
    /** Of ENDPOINT: its endpoint. No reference: a deleted endpoint makes the batch FAILED. */
    endpointId: text('endpoint_id').notNull().default(''),
    /** File with the requests. No reference: it may be deleted once the batch has ended. */
    fileId: text('file_id').notNull(),
    /** See core/domain/batches/batch.ts. */
    state: text('state').notNull(),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull().default({}),
    /** Faults of the requests, found by the validation. */
    faults: jsonb('faults').$type<BatchFault[]>().notNull().default([]),
    /** Why it does not advance, for people. Empty: it does. */
    stalled: text('stalled').notNull().default(''),
    /** Bytes and lines of the file that were validated. */
    readBytes: bigint('read_bytes', { mode: 'number' }).notNull().default(0),
    readLines: integer('read_lines').notNull().default(0),
    total: integer('total').notNull().default(0),
    completed: integer('completed').notNull().default(0),
    failed: integer('failed').notNull().default(0),
    /** Bytes of the results so far. */
    resultBytes: bigint('result_bytes', { mode: 'number' }).notNull().default(0),
    /** Seconds after its end for which the results are kept. */
    resultSeconds: integer('result_seconds').notNull(),
    /** Milliseconds of the completion window, from its start. */
    windowMs: bigint('window_ms', { mode: 'number' }).notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    startedAt: instant('started_at'),
    cancellingAt: instant('cancelling_at'),
    endedAt: instant('ended_at'),
    /** End of the completion window. Of a draft: when it is given up. */
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [
    index('batch_list_idx').on(t.accountId, t.createdAt, t.id),
    index('batch_endpoint_idx').on(t.endpointId, t.createdAt),
    index('batch_active_idx').on(t.createdAt).where(sql`${t.endedAt} IS NULL`),
    index('batch_ended_idx').on(t.endedAt).where(sql`${t.endedAt} IS NOT NULL`),
    check(
      'batch_state_known',
      sql`${t.state} IN ('DRAFT', 'VALIDATING', 'IN_PROGRESS', 'EXPIRING', 'CANCELLING', 'COMPLETED', 'FAILED',
    'EXPIRED', 'CANCELLED')`,
    ),
    check(
      'batch_ended_at_matches_state',
      sql`(${t.endedAt} IS NOT NULL) = (${t.state} IN ('COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED'))`,
    ),
  ],
);

/** A fault of the requests of a batch. */
export interface BatchFault {
  code: string;
  message: string;
  /** Line of the file, from 1. Null: the file as a whole. */
  line: number | null;
}

/** Requests of batches. */
export const batchItem = pgTable(
  'batch_item',
  {
    batchId: text('batch_id')
      .notNull()
      .references(() => batch.id, { onDelete: 'cascade' }),
    /** Place in the batch: of a file, its line, from 1. */
    number: integer('number').notNull(),
    /** Unique in the batch: the user's name, or core's id of a request of an endpoint. */
    customId: text('custom_id').notNull(),
    /** PENDING, SUBMITTED while it is a job, COMPLETED, FAILED, EXPIRED, CANCELLED. */
    state: text('state').notNull().default('PENDING'),
    /** Where the request stands in the file, in bytes. */
    start: bigint('start', { mode: 'number' }).notNull(),
    bytes: integer('bytes').notNull(),
    /** Its job. Written with it, in one transaction. */
    endpointId: text('endpoint_id'),
    jobId: text('job_id'),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
  },
  (t) => [
    primaryKey({ columns: [t.batchId, t.number] }),
    uniqueIndex('batch_item_custom_id_idx').on(t.batchId, t.customId),
    index('batch_item_open_idx').on(t.batchId, t.state, t.number).where(sql`${t.state} IN ('PENDING', 'SUBMITTED')`),
    check(
      'batch_item_state_known',
      sql`${t.state} IN ('PENDING', 'SUBMITTED', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED')`,
    ),
    check('batch_item_has_job', sql`${t.state} <> 'SUBMITTED' OR ${t.jobId} IS NOT NULL`),
  ],
);

/** Encrypted results of requests, in pieces: lines of the files of results. */
export const batchResult = pgTable(
  'batch_result',
  {
    batchId: text('batch_id')
      .notNull()
      .references(() => batch.id, { onDelete: 'cascade' }),
    /** OUTPUT or ERROR: the file that lists it. */
    side: text('side').notNull(),
    number: integer('number').notNull(),
    /** From 0. */
    piece: integer('piece').notNull(),
    /** Size in bytes, before encryption. */
    bytes: integer('bytes').notNull(),
    contentSealed: bytes('content_sealed').notNull(),
  },
  (t) => [primaryKey({ columns: [t.batchId, t.side, t.number, t.piece] })],
);
