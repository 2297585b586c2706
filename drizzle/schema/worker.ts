/**
 * Workers. `desired` is the state that core wants, `state` what the agent observed. Each column has one writer.
 */
import { bigint, boolean, check, index, integer, pgTable, sql, text } from '../orm.ts';
import { instant } from './columns.ts';
import { endpoint } from './endpoint.ts';
import { machine } from './machine.ts';

export const worker = pgTable(
  'worker',
  {
    /** 14 lowercase letters and digits; a restart is a new worker. */
    id: text('id').primaryKey(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    /**
     * RUN, FREEZE, DRAIN or GONE. Written by scaling. FREEZE: on standby for the next job (FlashBoot). GONE: its agent
     * stops it at once; the row stays until it is old (endedAt).
     */
    desired: text('desired').notNull().default('RUN'),
    /**
     * The endpoint for which it was preempted because its GPUs were needed (core/domain/scaling/preemption.ts). Empty:
     * not preempted. Written by scaling.
     */
    gaveWayTo: text('gave_way_to').notNull().default(''),
    /** Time of the last change of `desired`. */
    desiredAt: instant('desired_at').notNull().defaultNow(),
    /** INITIALIZING, READY, FROZEN, DRAINING, UNHEALTHY or STOPPED. Written from the agent's reports. */
    state: text('state').notNull().default('INITIALIZING'),
    /** Number of attempts that it can hold at once, from the agent's reports. */
    capacity: integer('capacity').notNull().default(0),
    /** Endpoint version that it was started from. */
    version: integer('version').notNull(),
    gpuUuids: text('gpu_uuids').array().notNull().default(sql`'{}'`),
    /** Size that it has on its machine, as flavor-vCPUs-GB. Empty: none. */
    instanceId: text('instance_id').notNull().default(''),
    reason: text('reason').notNull().default(''),
    exitCode: integer('exit_code'),
    sdkVersion: text('sdk_version').notNull().default(''),
    /** Address of its HTTP server, host:port. Empty: unknown, or not a worker of a load-balancing endpoint. */
    address: text('address').notNull().default(''),
    /**
     * Result of its health check: INITIALIZING, READY or UNHEALTHY. Empty: unknown, or not a worker of a load-balancing
     * endpoint.
     */
    health: text('health').notNull().default(''),
    /** True if each connection to its HTTP server is for one request (agent_service.proto). */
    singleUse: boolean('single_use').notNull().default(false),
    /** True if it gets no jobs until a stopped one has ended. From the agent's reports. */
    blocked: boolean('blocked').notNull().default(false),
    /** Consecutive crashes of this slot without a finished job in between. Determines the restart back-off. */
    failures: integer('failures').notNull().default(0),
    /** Time at which it crashed. Null: it did not, or the row is older than this column. */
    crashedAt: instant('crashed_at'),
    /** Time from which an UNHEALTHY worker may be replaced. */
    retryAt: instant('retry_at'),
    /** Time at which scaling last saw it hold an attempt, or it became ready. Idle time counts from here. */
    busyAt: instant('busy_at').notNull().defaultNow(),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** Time at which it could take its first job. Null: it never could, or the row is older than this column. */
    readyAt: instant('ready_at'),
    /**
     * Alternating begins and ends of the latest periods in which it held attempts (core/store/sql/worker-times.ts). Odd
     * length: the last period has not ended.
     */
    busyTimes: instant('busy_times').array().notNull().default(sql`'{}'`),
    /** The same for the latest periods on standby. */
    frozenTimes: instant('frozen_times').array().notNull().default(sql`'{}'`),
    /** Level that it should have on standby, GPU or HOST. Only with `desired` FREEZE. Written by scaling. */
    standbyLevel: text('standby_level').notNull().default('GPU'),
    /** Level that it has reached on standby, from the agent's reports. Empty: it is not on standby. */
    standbyReached: text('standby_reached').notNull().default(''),
    /** Time at which it reached HOST. Null unless it is there. */
    offloadedAt: instant('offloaded_at'),
    /** True if an operator suspended it: it keeps its GPUs reserved and is not resumed by scaling. */
    suspended: boolean('suspended').notNull().default(false),
    /** GPU memory that it holds or held before it was offloaded, in bytes. 0: unknown. */
    gpuMemoryBytes: bigint('gpu_memory_bytes', { mode: 'number' }).notNull().default(0),
    /** Bytes and milliseconds of its latest offload and restore. Null: none yet. */
    offloadBytes: bigint('offload_bytes', { mode: 'number' }),
    offloadMs: integer('offload_ms'),
    restoreBytes: bigint('restore_bytes', { mode: 'number' }),
    restoreMs: integer('restore_ms'),
    /** Why an offload or restore failed, as in OffloadFailure of machine.proto. Empty: none failed. */
    offloadFailure: text('offload_failure').notNull().default(''),
    /** Time at which it ended. Such rows are kept for a while, so that their reason can be read. */
    endedAt: instant('ended_at'),
  },
  (t) => [
    index('worker_endpoint_idx').on(t.endpointId),
    // Each index is only for statements that name it by its second condition, which is always true. Without that, while
    // the table is new, reading a whole index of living workers looks as cheap as reading one endpoint's part. A plan
    // that chose the wrong one would read the whole fleet for each endpoint until the next analyze.
    index('worker_endpoint_living_idx').on(t.endpointId).where(sql`ended_at IS NULL AND endpoint_id <> ''`),
    index('worker_machine_idx').on(t.machineId),
    index('worker_machine_living_idx').on(t.machineId).where(sql`ended_at IS NULL AND machine_id <> ''`),
    index('worker_single_use_idx').on(t.endpointId).where(sql`single_use`),
    check('worker_desired_known', sql`${t.desired} IN ('RUN', 'FREEZE', 'DRAIN', 'GONE')`),
    check(
      'worker_state_known',
      sql`${t.state} IN ('INITIALIZING', 'READY', 'FROZEN', 'DRAINING', 'UNHEALTHY', 'STOPPED')`,
    ),
    check('worker_standby_level_known', sql`${t.standbyLevel} IN ('GPU', 'HOST')`),
    check('worker_standby_reached_known', sql`${t.standbyReached} IN ('', 'GPU', 'HOST')`),
    check('worker_health_known', sql`${t.health} IN ('', 'INITIALIZING', 'READY', 'UNHEALTHY')`),
  ],
);
