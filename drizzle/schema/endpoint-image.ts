/** Resolved image digests of endpoints, by version. The first machine's report applies to all machines. */
import { integer, pgTable, primaryKey, text } from '../orm.ts';
import { instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const endpointImage = pgTable(
  'endpoint_image',
  {
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    /** A worker that was placed just before a change of the template may run the new image under the old version. */
    imageName: text('image_name').notNull(),
    digest: text('digest').notNull(),
    settledAt: instant('settled_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.version, t.imageName] })],
);
