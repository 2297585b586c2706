/** What facades and proxies have to do for load-balancing endpoints: the latest word of each, void when it is old. */
import { integer, pgTable, primaryKey, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const endpointDemand = pgTable(
  'endpoint_demand',
  {
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    /** Who says so: one stream of a facade, or one proxy. */
    reporter: text('reporter').notNull(),
    /** Requests that wait for a worker. */
    waiting: integer('waiting').notNull(),
    /** Since when it has said so without a break; null: none waits. */
    waitingSince: instant('waiting_since'),
    /** Workers that have requests, and how many each, in the same order. */
    workerIds: text('worker_ids').array().notNull(),
    inFlight: integer('in_flight').array().notNull(),
    reportedAt: instant('reported_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.reporter] })],
);
