/**
 * Demand that facades and proxies report for load-balancing endpoints: the latest report of each. Old reports are
 * ignored.
 */
import { integer, pgTable, primaryKey, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const endpointDemand = pgTable(
  'endpoint_demand',
  {
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    /** Source of the report: one stream of a facade, or one proxy. */
    reporter: text('reporter').notNull(),
    /** Requests that wait for a worker. */
    waiting: integer('waiting').notNull(),
    /** Time since which requests wait without interruption. Null: none waits. */
    waitingSince: instant('waiting_since'),
    /** Workers that have requests, and the number of requests of each, in the same order. */
    workerIds: text('worker_ids').array().notNull(),
    inFlight: integer('in_flight').array().notNull(),
    reportedAt: instant('reported_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.reporter] })],
);
