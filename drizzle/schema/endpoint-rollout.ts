/**
 * Progress of an endpoint's latest release, and its last good versions. core/domain/scaling/rollout.ts uses them for
 * its decisions.
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
    /** The endpoint version that is rolled out. */
    version: integer('version').notNull(),
    /** CHECKING, ROLLING, REPLACING, HELD, ROLLED_BACK or COMPLETE (core/domain/scaling/rollout-settings.ts). */
    state: text('state').notNull().default('CHECKING'),
    /**
     * The version that serves while the released one does not, and that a rollback returns to. Null: no version has
     * started yet.
     */
    goodVersion: integer('good_version'),
    /** True if a worker of the previous version was ended to free capacity for the first one of this version. */
    roomMade: boolean('room_made').notNull().default(false),
    /** True if a worker of this version was started, or found no capacity, while there was no demand for it. */
    checked: boolean('checked').notNull().default(false),
    /** Reason of the hold. Empty: not on hold. */
    reason: text('reason').notNull().default(''),
    /** Time of the last change of `state`. */
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
 * Program and requirements of the workers of a version, copied from endpoint and template when the version had started.
 * Same columns as there, encrypted for the same identities.
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
    modelReferences: text('model_references').array().notNull().default(sql`'{}'`),
    /** Time at which the version had started. */
    goodAt: instant('good_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.version] })],
);
