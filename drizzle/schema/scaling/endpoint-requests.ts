/** Requests to workers of load-balancing endpoints: counted in spans, in all, and the last ones that failed. */
import { bigint, boolean, index, integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';

/**
 * Ended requests of some seconds, by worker. Each replica appends its own rows. No foreign key, on purpose: the rows of
 * a deleted endpoint are deleted by age, like all others. Kept for hours.
 */
export const endpointRequests = pgTable(
  'endpoint_requests',
  {
    endpointId: text('endpoint_id').notNull(),
    /** Empty: no worker got the request. */
    workerId: text('worker_id').notNull(),
    /** End of the span, and its length in milliseconds. */
    endedAt: instant('ended_at').notNull().defaultNow(),
    spanMs: integer('span_ms').notNull(),
    /** Number of requests by outcome, in the order of REQUEST_OUTCOMES (kit/observe/request-counts.ts). */
    outcomes: integer('outcomes').array().notNull(),
    /** Bytes of bodies from clients and to them. */
    bytesIn: bigint('bytes_in', { mode: 'number' }).notNull(),
    bytesOut: bigint('bytes_out', { mode: 'number' }).notNull(),
    /** Sum and histogram (core/domain/scaling/traffic.ts) of the time until the end of the response. */
    durationMs: bigint('duration_ms', { mode: 'number' }).notNull(),
    durations: integer('durations').array().notNull(),
  },
  (t) => [
    index('endpoint_requests_endpoint_idx').on(t.endpointId, t.endedAt),
    index('endpoint_requests_ended_idx').on(t.endedAt),
  ],
);

/** All requests of an endpoint since the first one that was counted. */
export const endpointRequestTotal = pgTable('endpoint_request_total', {
  endpointId: text('endpoint_id').primaryKey(),
  outcomes: bigint('outcomes', { mode: 'number' }).array().notNull(),
  bytesIn: bigint('bytes_in', { mode: 'number' }).notNull(),
  bytesOut: bigint('bytes_out', { mode: 'number' }).notNull(),
  durationMs: bigint('duration_ms', { mode: 'number' }).notNull(),
  durations: bigint('durations', { mode: 'number' }).array().notNull(),
});

/** Failed requests, a sample of the last ones. They hold neither headers nor bodies, and no query. */
export const failedRequest = pgTable(
  'failed_request',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id').notNull(),
    failedAt: instant('failed_at').notNull(),
    method: text('method').notNull(),
    /** Path at the worker, cut to a maximum length. */
    path: text('path').notNull(),
    hasQuery: boolean('has_query').notNull(),
    /** 0: there was no complete response. */
    status: integer('status').notNull(),
    durationMs: integer('duration_ms').notNull(),
    workerId: text('worker_id').notNull(),
    /** Code of the error that this service answered with, or how the connection ended. Empty: the worker's response. */
    cause: text('cause').notNull(),
  },
  (t) => [
    index('failed_request_endpoint_idx').on(t.endpointId, t.id),
    index('failed_request_failed_idx').on(t.failedAt),
  ],
);
