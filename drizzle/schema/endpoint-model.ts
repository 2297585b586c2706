/** Resolved commits of the models of endpoints, by version. The first machine's report applies to all machines. */
import { integer, pgTable, primaryKey, text } from '../orm.ts';
import { instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const endpointModel = pgTable(
  'endpoint_model',
  {
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    repository: text('repository').notNull(),
    revision: text('revision').notNull(),
    commit: text('commit').notNull(),
    settledAt: instant('settled_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.version, t.repository, t.revision] })],
);
