/** What workers run. */
import { boolean, index, integer, jsonb, pgTable, sql, text, unique } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const template = pgTable(
  'template',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    imageName: text('image_name').notNull().default(''),
    startCommand: text('start_command').array().notNull().default(sql`'{}'`),
    entrypoint: text('entrypoint').array().notNull().default(sql`'{}'`),
    /**
     * As a release before sealing wrote it, until core has sealed it; empty since. Read and written through
     * core/store/sql/env-seals.ts only.
     */
    env: jsonb('env').$type<Record<string, string>>().notNull().default({}),
    /** The environment as JSON, sealed. Null: empty. */
    envSealed: bytes('env_sealed'),
    workingDirectory: text('working_directory').notNull().default(''),
    containerDiskGb: integer('container_disk_gb').notNull().default(50),
    volumeGb: integer('volume_gb').notNull().default(0),
    volumeMountPath: text('volume_mount_path').notNull().default('/workspace'),
    ports: text('ports').array().notNull().default(sql`'{}'`),
    registryAuthId: text('registry_auth_id'),
    serverless: boolean('serverless').notNull().default(true),
    public: boolean('public').notNull().default(false),
    readme: text('readme').notNull().default(''),
    category: text('category').notNull().default('NVIDIA'),
    /** Raised by every change of what is run of it, from 1. */
    version: integer('version').notNull().default(1),
    /**
     * The endpoint that alone runs it, and with which it goes; null: it is for all. No foreign key: each names the
     * other.
     */
    boundEndpointId: text('bound_endpoint_id'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [
    unique('template_name_unique').on(t.accountId, t.name),
    // The template that goes with an endpoint.
    index('template_bound_endpoint_idx').on(t.boundEndpointId).where(sql`${t.boundEndpointId} IS NOT NULL`),
  ],
);
