/**
 * How far the latest release of an endpoint has come, and what its last good versions run: core/domain/scaling/rollout.ts
 * decides by it.
 */
import { boolean, check, index, integer, pgTable, primaryKey, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';
import { endpoint } from './endpoint.ts';

export const endpointRollout = pgTable(
  'endpoint_rollout',
  {
    endpointId: text('endpoint_id')
      .primaryKey()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    /** The endpoint version that this is about. */
    version: integer('version').notNull(),
    /** CHECKING, ROLLING, REPLACING, HELD, ROLLED_BACK or COMPLETE (core/domain/scaling/rollout-settings.ts). */
    state: text('state').notNull().default('CHECKING'),
    /**
     * The version that serves while the released one does not, and that a rollback returns to. Null: none has come up
     * yet.
     */
    goodVersion: integer('good_version'),
    /** A worker of the version before was ended to make room for the first one of this. */
    roomMade: boolean('room_made').notNull().default(false),
    /** A worker of this version was started, or found no room, while nothing asked for one. */
    checked: boolean('checked').notNull().default(false),
    /** Why it is held; empty: it is not. */
    reason: text('reason').notNull().default(''),
    /** When `state` became what it is. */
    since: instant('since').notNull().defaultNow(),
  },
  (t) => [
    index('endpoint_rollout_unchecked_idx')
      .on(t.endpointId)
      .where(sql`state = 'CHECKING' AND NOT checked AND good_version IS NOT NULL`),
    index('endpoint_rollout_held_idx').on(t.endpointId).where(sql`state = 'HELD'`),
    check(
      'endpoint_rollout_state_known',
      sql`${t.state} IN ('CHECKING', 'ROLLING', 'REPLACING', 'HELD', 'ROLLED_BACK', 'COMPLETE')`,
    ),
  ],
);

/**
 * What workers of a version run and ask for, as endpoint and template said when it had come up. Columns as there,
 * sealed for the same identities.
 */
export const endpointVersion = pgTable(
  'endpoint_version',
  {
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    templateId: text('template_id').notNull(),
    imageName: text('image_name').notNull(),
    startCommand: text('start_command').array().notNull(),
    entrypoint: text('entrypoint').array().notNull(),
    workingDirectory: text('working_directory').notNull(),
    containerDiskGb: integer('container_disk_gb').notNull(),
    ports: text('ports').array().notNull(),
    registryAuthId: text('registry_auth_id'),
    templateEnvSealed: bytes('template_env_sealed'),
    endpointEnvSealed: bytes('endpoint_env_sealed'),
    gpuIds: text('gpu_ids').array().notNull(),
    gpuCount: integer('gpu_count').notNull(),
    instanceIds: text('instance_ids').array().notNull(),
    locations: text('locations').array().notNull(),
    networkVolumeIds: text('network_volume_ids').array().notNull(),
    allowedCudaVersions: text('allowed_cuda_versions').array().notNull(),
    workerConcurrency: integer('worker_concurrency').notNull(),
    /** When it had come up. */
    goodAt: instant('good_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.version] })],
);
