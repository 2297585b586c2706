/** Endpoints and the counters of their jobs. */
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, sql, text, unique } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';
import { template } from './template.ts';

export const endpoint = pgTable(
  'endpoint',
  {
    /** 14 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** Unused since creation_key; releases before it wrote it. */
    requestId: text('request_id'),
    name: text('name').notNull(),
    templateId: text('template_id')
      .notNull()
      .references(() => template.id),
    type: text('type').notNull().default('QB'),
    gpuIds: text('gpu_ids').array().notNull().default(sql`'{}'`),
    gpuCount: integer('gpu_count').notNull().default(1),
    workersMin: integer('workers_min').notNull().default(0),
    workersMax: integer('workers_max').notNull().default(3),
    idleTimeoutSeconds: integer('idle_timeout_seconds').notNull().default(5),
    scalerType: text('scaler_type').notNull().default('QUEUE_DELAY'),
    scalerValue: integer('scaler_value').notNull().default(4),
    executionTimeoutMs: bigint('execution_timeout_ms', { mode: 'number' }).notNull().default(600_000),
    flashBootType: text('flash_boot_type').notNull().default('OFF'),
    /** Where workers on standby keep their GPU memory: AUTO, GPU or HOST. */
    flashBootStandby: text('flash_boot_standby').notNull().default('AUTO'),
    locations: text('locations').array().notNull().default(sql`'{}'`),
    networkVolumeIds: text('network_volume_ids').array().notNull().default(sql`'{}'`),
    /**
     * Plaintext environment from a release without encryption, until core has encrypted it; empty since. Read and
     * written through core/store/sql/env-seals.ts only.
     */
    env: jsonb('env').$type<Record<string, string>>().notNull().default({}),
    /** The encrypted environment, as JSON. Null: empty. */
    envSealed: bytes('env_sealed'),
    /** Names of the account's secrets that the environment mentions. Null: not known, from an earlier release. */
    secretNames: text('secret_names').array(),
    retryLimit: integer('retry_limit').notNull().default(2),
    retryHandlerErrors: boolean('retry_handler_errors').notNull().default(false),
    workerConcurrency: integer('worker_concurrency').notNull().default(1),
    computeType: text('compute_type').notNull().default('GPU'),
    allowedCudaVersions: text('allowed_cuda_versions').array().notNull().default(sql`'{}'`),
    /** Sizes of a CPU worker in order of preference, as flavor-vCPUs-GB. */
    instanceIds: text('instance_ids').array().notNull().default(sql`'{}'`),
    /** The exact value of scaler_value for QUEUE_DELAY, in milliseconds. 0: scaler_value applies. */
    queueDelayMs: integer('queue_delay_ms').notNull().default(0),
    /** True if execution_timeout_ms was not set by the owner. */
    executionTimeoutUnset: boolean('execution_timeout_unset').notNull().default(false),
    /** True if FLASHBOOT was requested with priority. */
    priorityFlashBoot: boolean('priority_flash_boot').notNull().default(false),
    /** Names by which OpenAI clients select the endpoint. */
    modelAliases: text('model_aliases').array().notNull().default(sql`'{}'`),
    /** Share of the requests for a name that several endpoints have. */
    modelWeight: integer('model_weight').notNull().default(1),
    /** Number that may wait before requests for a shared name go to other endpoints. 0: any number. */
    modelQueueMax: integer('model_queue_max').notNull().default(0),
    /** Hugging Face repositories that its workers need, as the owner wrote them. */
    modelReferences: text('model_references').array().notNull().default(sql`'{}'`),
    /** Example of a request, as JSON. Empty: the template's. */
    exampleInput: text('example_input').notNull().default(''),
    /** True if no job may run before it is stored. */
    durableBeforeRun: boolean('durable_before_run').notNull().default(false),
    /** Encrypted secret that signs webhook calls. Null: not signed. */
    webhookSecretSealed: bytes('webhook_secret_sealed'),
    /** Raised by every change that replaces workers. */
    version: integer('version').notNull().default(0),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('endpoint_account_idx').on(t.accountId, t.createdAt),
    index('endpoint_template_idx').on(t.templateId),
    unique('endpoint_request_unique').on(t.accountId, t.requestId),
    check('endpoint_type_known', sql`${t.type} IN ('QB', 'LB')`),
    check('endpoint_flash_boot_standby_known', sql`${t.flashBootStandby} IN ('AUTO', 'GPU', 'HOST')`),
    check('endpoint_workers_in_order', sql`0 <= ${t.workersMin} AND ${t.workersMin} <= ${t.workersMax}`),
  ],
);

/**
 * Counters of an endpoint, split into slots whose sum counts. Every connection of core has its own slot, so that no two
 * statements wait for each other's commit. No foreign key: jobs can outlive their endpoint for a while; the singleton
 * task that recounts queues removes the rows of deleted endpoints.
 */
export const endpointTally = pgTable(
  'endpoint_tally',
  {
    endpointId: text('endpoint_id').notNull(),
    slot: integer('slot').notNull(),
    /** Outcomes since the endpoint was created. */
    completed: bigint('completed', { mode: 'number' }).notNull().default(0),
    failed: bigint('failed', { mode: 'number' }).notNull().default(0),
    retried: bigint('retried', { mode: 'number' }).notNull().default(0),
    /**
     * Number of jobs that are IN_QUEUE: those that entered less those that left through this slot. So it may be
     * negative.
     */
    queued: bigint('queued', { mode: 'number' }).notNull().default(0),
    /** Number of queued jobs with low priority. */
    queuedLow: bigint('queued_low', { mode: 'number' }).notNull().default(0),
    /**
     * Last position of normal priority that was claimed through this slot. A hint for the head of the queue: lost
     * attempts are requeued before it.
     */
    claimedTo: bigint('claimed_to', { mode: 'number' }).notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.slot] })],
);

/** Counters of releases before endpoint_tally. They are added to it. */
export const endpointCounter = pgTable('endpoint_counter', {
  endpointId: text('endpoint_id')
    .primaryKey()
    .references(() => endpoint.id, { onDelete: 'cascade' }),
  completed: bigint('completed', { mode: 'number' }).notNull().default(0),
  failed: bigint('failed', { mode: 'number' }).notNull().default(0),
  retried: bigint('retried', { mode: 'number' }).notNull().default(0),
});
