/**
 * Long-running processes or containers: what core wants of them (desired) and what their agent observed (state). Each
 * column has one writer.
 */
import { boolean, check, index, integer, jsonb, pgTable, sql, text } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';
import { machine } from './machine.ts';

export const pod = pgTable(
  'pod',
  {
    /** 14 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** Where its fields came from; the template may be gone. */
    templateId: text('template_id').notNull().default(''),
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
    /**
     * What a public template of another account brought; under `env`, and shown to nobody. Sealed as JSON; null:
     * nothing.
     */
    templateEnvSealed: bytes('template_env_sealed'),
    workingDirectory: text('working_directory').notNull().default(''),
    containerDiskGb: integer('container_disk_gb').notNull().default(50),
    volumeGb: integer('volume_gb').notNull().default(20),
    volumeMountPath: text('volume_mount_path').notNull().default('/workspace'),
    ports: text('ports').array().notNull().default(sql`'{}'`),
    registryAuthId: text('registry_auth_id'),
    /** The bytes that the image means, and the run for which that is settled. */
    imageDigest: text('image_digest').notNull().default(''),
    imageDigestRun: integer('image_digest_run').notNull().default(0),
    networkVolumeId: text('network_volume_id'),
    gpuIds: text('gpu_ids').array().notNull().default(sql`'{}'`),
    gpuCount: integer('gpu_count').notNull().default(1),
    computeType: text('compute_type').notNull().default('GPU'),
    locations: text('locations').array().notNull().default(sql`'{}'`),
    allowedCudaVersions: text('allowed_cuda_versions').array().notNull().default(sql`'{}'`),
    /** Sizes of a CPU pod in order of preference, as flavour-processors-GB. */
    instanceIds: text('instance_ids').array().notNull().default(sql`'{}'`),
    locked: boolean('locked').notNull().default(false),
    interruptible: boolean('interruptible').notNull().default(false),
    /** Its machine, for its whole life: its files are there. */
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    /** GPUs it holds; none while it is EXITED. */
    gpuUuids: text('gpu_uuids').array().notNull().default(sql`'{}'`),
    /** Type name of its GPUs; empty without one. */
    gpuTypeId: text('gpu_type_id').notNull().default(''),
    /** The size it has on its machine; empty for none. */
    instanceId: text('instance_id').notNull().default(''),
    /** RUNNING or EXITED. */
    desired: text('desired').notNull().default('RUNNING'),
    /** Raised by every fresh start: reports of earlier runs are ignored. */
    run: integer('run').notNull().default(1),
    /** Raised by every reset: a new number is an empty disk. */
    disk: integer('disk').notNull().default(1),
    /** STARTING, RUNNING, EXITED or FAILED. Written from the agent's reports, and STARTING by a fresh start. */
    state: text('state').notNull().default('STARTING'),
    statusText: text('status_text').notNull().default(''),
    exitCode: integer('exit_code'),
    /**
     * Where its http ports listen, host:port or `tunnel` by port. Written from the agent's reports; counts while it is
     * RUNNING.
     */
    httpAddresses: jsonb('http_addresses').$type<Record<string, string>>().notNull().default({}),
    createdAt: instant('created_at').notNull().defaultNow(),
    lastStartedAt: instant('last_started_at').notNull().defaultNow(),
    stateChangedAt: instant('state_changed_at').notNull().defaultNow(),
  },
  (t) => [
    index('pod_account_idx').on(t.accountId, t.createdAt),
    index('pod_machine_idx').on(t.machineId),
    check('pod_desired_known', sql`${t.desired} IN ('RUNNING', 'EXITED')`),
    check('pod_state_known', sql`${t.state} IN ('STARTING', 'RUNNING', 'EXITED', 'FAILED')`),
    check('pod_exited_holds_no_gpu', sql`${t.desired} = 'RUNNING' OR ${t.gpuUuids} = '{}'`),
  ],
);
