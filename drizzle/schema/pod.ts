/**
 * Pods: long-running processes or containers. `desired` is the state that core wants, `state` the one that the agent
 * observed. Each column has one writer.
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
    /** Template that its fields were copied from. It may be deleted. */
    templateId: text('template_id').notNull().default(''),
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
    /**
     * Encrypted variables from a public template of another account, as JSON. `env` overrides them. Never shown. Null:
     * none.
     */
    templateEnvSealed: bytes('template_env_sealed'),
    workingDirectory: text('working_directory').notNull().default(''),
    containerDiskGb: integer('container_disk_gb').notNull().default(50),
    volumeGb: integer('volume_gb').notNull().default(20),
    volumeMountPath: text('volume_mount_path').notNull().default('/workspace'),
    ports: text('ports').array().notNull().default(sql`'{}'`),
    registryAuthId: text('registry_auth_id'),
    /** Resolved digest of the image, and the run that it was resolved for. */
    imageDigest: text('image_digest').notNull().default(''),
    imageDigestRun: integer('image_digest_run').notNull().default(0),
    networkVolumeId: text('network_volume_id'),
    gpuIds: text('gpu_ids').array().notNull().default(sql`'{}'`),
    gpuCount: integer('gpu_count').notNull().default(1),
    computeType: text('compute_type').notNull().default('GPU'),
    locations: text('locations').array().notNull().default(sql`'{}'`),
    allowedCudaVersions: text('allowed_cuda_versions').array().notNull().default(sql`'{}'`),
    /** Sizes of a CPU pod in order of preference, as flavor-vCPUs-GB. */
    instanceIds: text('instance_ids').array().notNull().default(sql`'{}'`),
    locked: boolean('locked').notNull().default(false),
    interruptible: boolean('interruptible').notNull().default(false),
    /** Its machine. Never changes: the pod's files are there. */
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    /** GPUs that it holds. Empty while it is EXITED. */
    gpuUuids: text('gpu_uuids').array().notNull().default(sql`'{}'`),
    /** Type name of its GPUs. Empty without a GPU. */
    gpuTypeId: text('gpu_type_id').notNull().default(''),
    /** Size that it has on its machine. Empty: none. */
    instanceId: text('instance_id').notNull().default(''),
    /** RUNNING or EXITED. */
    desired: text('desired').notNull().default('RUNNING'),
    /** Raised by every new start. Reports of earlier runs are ignored. */
    run: integer('run').notNull().default(1),
    /** Raised by every reset. A new number means an empty disk. */
    disk: integer('disk').notNull().default(1),
    /** STARTING, RUNNING, EXITED or FAILED. Written from the agent's reports; a new start writes STARTING. */
    state: text('state').notNull().default('STARTING'),
    statusText: text('status_text').notNull().default(''),
    exitCode: integer('exit_code'),
    /**
     * Addresses of its HTTP ports, host:port or `tunnel`, by port. Written from the agent's reports. Valid while it is
     * RUNNING.
     */
    httpAddresses: jsonb('http_addresses').$type<Record<string, string>>().notNull().default({}),
    /** host:port at which clients reach its TCP ports, by port. Written and valid like the HTTP addresses. */
    tcpAddresses: jsonb('tcp_addresses').$type<Record<string, string>>().notNull().default({}),
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
