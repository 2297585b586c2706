/**
 * Jobs. The hot row is kept small; input and output have their own tables. Every key starts with endpoint_id, so that
 * the tables can be partitioned by it. There are no foreign keys on purpose: a lookup per inserted row would halve the
 * insert rate. Deleting an endpoint deletes its jobs.
 */
import { bigint, bigserial, boolean, check, index, integer, pgTable, primaryKey, sql, text, uuid } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const job = pgTable(
  'job',
  {
    endpointId: text('endpoint_id').notNull(),
    /** `<uuid>-u1` or `sync-<uuid>-u1`. */
    id: text('id').notNull(),
    /** See core/domain/jobs/job-state.ts. */
    state: text('state').notNull(),
    /**
     * Queue position. A lost attempt keeps it, which puts the job at the front again. A retry by the user assigns a new
     * one.
     */
    position: bigserial('position', { mode: 'number' }).notNull(),
    lowPriority: boolean('low_priority').notNull(),
    /** Number of the latest attempt: the fencing token. It only grows. 0 before the first attempt. */
    attempt: integer('attempt').notNull().default(0),
    /** Lost attempts that were requeued since the job was submitted or retried by the user. */
    retries: integer('retries').notNull().default(0),
    /** Machine that holds the lease of the latest attempt. */
    machineId: text('machine_id'),
    workerId: text('worker_id'),
    /**
     * Chosen by the replica before it claims. If the connection breaks during the commit, the replica finds its claim
     * by it.
     */
    claimId: uuid('claim_id'),
    /** True if job_input has a webhook. Stored here so that an outcome without one never reads the row of the input. */
    hasWebhook: boolean('has_webhook').notNull().default(false),
    executionTimeoutMs: bigint('execution_timeout_ms', { mode: 'number' }).notNull(),
    retentionMs: bigint('retention_ms', { mode: 'number' }).notNull(),
    submittedAt: instant('submitted_at').notNull(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    /** started_at + execution timeout, while IN_PROGRESS. */
    executionDeadlineAt: instant('execution_deadline_at'),
    /** submitted_at + ttl. The job expires then, whatever its state. */
    ttlDeadlineAt: instant('ttl_deadline_at').notNull(),
    /**
     * Time at which the row expires: the ttl deadline, or earlier the end of the result's retention. Readers treat an
     * expired row as deleted.
     */
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.endpointId, t.id] }),
    index('job_claim_idx').on(t.endpointId, t.lowPriority, t.position).where(sql`${t.state} = 'IN_QUEUE'`),
    index('job_running_since_idx').on(t.endpointId, t.startedAt).where(sql`${t.state} = 'IN_PROGRESS'`),
    index('job_machine_since_idx').on(t.machineId, t.startedAt).where(sql`${t.state} = 'IN_PROGRESS'`),
    index('job_execution_deadline_idx').on(t.executionDeadlineAt).where(sql`${t.state} = 'IN_PROGRESS'`),
    // For lists of jobs: queued and running ones are found by the indexes above.
    index('job_finished_idx').on(t.endpointId, t.state, t.position).where(sql`${t.finishedAt} IS NOT NULL`),
    index('job_expires_idx').on(t.expiresAt),
    check(
      'job_state_known',
      sql`${t.state} IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT')`,
    ),
    check(
      'job_finished_at_matches_state',
      sql`(${t.finishedAt} IS NOT NULL) = (${t.state} IN ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'))`,
    ),
    check(
      'job_lease_matches_state',
      sql`${t.state} <> 'IN_PROGRESS' OR (${t.machineId} IS NOT NULL AND ${t.workerId} IS NOT NULL
    AND ${t.startedAt} IS NOT NULL AND ${t.executionDeadlineAt} IS NOT NULL AND ${t.attempt} > 0)`,
    ),
    check(
      'job_queue_has_no_lease',
      sql`${t.state} <> 'IN_QUEUE' OR (${t.executionDeadlineAt} IS NULL AND ${t.machineId} IS NULL)`,
    ),
  ],
);

/** Submitted inputs. Written once. */
export const jobInput = pgTable(
  'job_input',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** The caller's JSON text, byte for byte. */
    input: bytes('input').notNull(),
    /** Plaintext webhook from a release without encryption, until core has encrypted it. */
    webhook: text('webhook'),
    /** Encrypted URL to call with the outcome: it may contain credentials. Null: none. */
    webhookSealed: bytes('webhook_sealed'),
    /** Encrypted S3Config message. */
    s3ConfigSealed: bytes('s3_config_sealed'),
    /** W3C trace context of a submission whose trace is recorded. Null: not recorded. */
    traceparent: text('traceparent'),
    /** The batch that it belongs to, for the worker. Null: none. */
    batchId: text('batch_id'),
    /** The caller's metadata as a JSON object of strings. Null: none. Its pairs are in job_metadata too. */
    metadata: text('metadata'),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId] })],
);

/**
 * Metadata of jobs, one row for each pair, to find jobs by. Jobs without metadata have no row and pay for none: the row
 * of their input says that there is none.
 */
export const jobMetadata = pgTable(
  'job_metadata',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    key: text('key').notNull(),
    value: text('value').notNull(),
    /** Queue position of the submission. A retry does not change it. */
    position: bigint('position', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.endpointId, t.jobId, t.key] }),
    index('job_metadata_found_idx').on(t.endpointId, t.key, t.value, t.position),
  ],
);

/** Outputs of handlers. While a job runs: its latest progress. */
export const jobOutput = pgTable(
  'job_output',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** The handler's JSON text, byte for byte. Null if it returned nothing. */
    output: bytes('output'),
    error: text('error'),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId] })],
);

/** Chunks of streamed output. */
export const jobChunk = pgTable(
  'job_chunk',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    attempt: integer('attempt').notNull(),
    /** Number of the chunk, from 1 within the attempt. */
    number: integer('number').notNull(),
    output: bytes('output').notNull(),
    metrics: bytes('metrics'),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId, t.attempt, t.number] })],
);

/** Read position that all readers of a job's stream share. */
export const streamCursor = pgTable(
  'stream_cursor',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    attempt: integer('attempt').notNull(),
    number: integer('number').notNull(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId] })],
);

/** Submissions with an Idempotency-Key, until their job expires. */
export const idempotencyKey = pgTable(
  'idempotency_key',
  {
    endpointId: text('endpoint_id').notNull(),
    /** SHA-256 of the caller's key. */
    keyHash: bytes('key_hash').notNull(),
    /** SHA-256 of everything that was submitted. */
    bodyHash: bytes('body_hash').notNull(),
    jobId: text('job_id').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.keyHash] }), index('idempotency_key_expires_idx').on(t.expiresAt)],
);
