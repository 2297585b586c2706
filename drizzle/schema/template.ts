/** Templates: the programs of workers and pods. */
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
     * Plaintext environment from a release without encryption, until core has encrypted it; empty since. Read and
     * written through core/store/sql/env-seals.ts only.
     */
    env: jsonb('env').$type<Record<string, string>>().notNull().default({}),
    /** The encrypted environment, as JSON. Null: empty. */
    envSealed: bytes('env_sealed'),
    /** Names of the account's secrets that the environment mentions. Null: not known, from an earlier release. */
    secretNames: text('secret_names').array(),
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
    startSsh: boolean('start_ssh').notNull().default(true),
    startJupyter: boolean('start_jupyter').notNull().default(false),
    /** Example of a request to endpoints that run it, as JSON. Empty: none. */
    exampleInput: text('example_input').notNull().default(''),
    /** Version, from 1. Raised by every change of what workers run. */
    version: integer('version').notNull().default(1),
    /**
     * The only endpoint that runs it, with which it is deleted. Null: any endpoint may use it. No foreign key, as each
     * would reference the other.
     */
    boundEndpointId: text('bound_endpoint_id'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [
    unique('template_name_unique').on(t.accountId, t.name),
    // Finds the own template of an endpoint.
    index('template_bound_endpoint_idx').on(t.boundEndpointId).where(sql`${t.boundEndpointId} IS NOT NULL`),
  ],
);
