/** Workers: what core wants of them (desired) and what their agent observed (state). Each column has one writer. */
import { boolean, check, index, integer, pgTable, sql, text } from '../orm.ts';
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
     * RUN, FREEZE, DRAIN or GONE. Written by scaling. FREEZE: kept frozen for the next job (FlashBoot). GONE: its agent
     * stops it at once; the row stays until it is old (endedAt).
     */
    desired: text('desired').notNull().default('RUN'),
    /**
     * The endpoint that its GPUs were needed for when it was asked to give way (core/domain/scaling/preemption.ts). Empty: it
     * was not. Written by scaling.
     */
    gaveWayTo: text('gave_way_to').notNull().default(''),
    /** When `desired` became what it is. */
    desiredAt: instant('desired_at').notNull().defaultNow(),
    /** INITIALIZING, READY, FROZEN, DRAINING, UNHEALTHY or STOPPED. Written from the agent's reports. */
    state: text('state').notNull().default('INITIALIZING'),
    /** Attempts it can hold at once, from the agent's reports. */
    capacity: integer('capacity').notNull().default(0),
    /** Endpoint version it was started from. */
    version: integer('version').notNull(),
    gpuUuids: text('gpu_uuids').array().notNull().default(sql`'{}'`),
    /** The size it has on its machine, as flavour-processors-GB; empty for none. */
    instanceId: text('instance_id').notNull().default(''),
    reason: text('reason').notNull().default(''),
    exitCode: integer('exit_code'),
    sdkVersion: text('sdk_version').notNull().default(''),
    /** Where its HTTP server listens, host:port. Empty: not known, or no worker of a load-balancing endpoint. */
    address: text('address').notNull().default(''),
    /** What its health path answers: INITIALIZING, READY or UNHEALTHY; empty as the address. */
    health: text('health').notNull().default(''),
    /** Each connection to its HTTP server is for one request (agent_service.proto). */
    singleUse: boolean('single_use').notNull().default(false),
    /** It gets no jobs until one that was stopped has ended, from the agent's reports. */
    blocked: boolean('blocked').notNull().default(false),
    /** Crashes of this slot in a row without a job in between; decides the back-off. */
    failures: integer('failures').notNull().default(0),
    /** When an UNHEALTHY worker may be replaced. */
    retryAt: instant('retry_at'),
    /** When scaling last saw it hold an attempt, or became ready; idle time counts from here. */
    busyAt: instant('busy_at').notNull().defaultNow(),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** When it could take its first job. Null: it never could, or it is older than this column. */
    readyAt: instant('ready_at'),
    /**
     * When stretches began and ended, in turn, in which it held attempts; the latest (core/store/sql/worker-times.ts). Odd:
     * the last goes on.
     */
    busyTimes: instant('busy_times').array().notNull().default(sql`'{}'`),
    /** The same of those in which it stood frozen. */
    frozenTimes: instant('frozen_times').array().notNull().default(sql`'{}'`),
    /** When it ended; such rows are kept for a while so that their reason can be read. */
    endedAt: instant('ended_at'),
  },
  (t) => [
    index('worker_endpoint_idx').on(t.endpointId),
    // Each only for statements that name it by its second condition, which always holds: while the table is new,
    // reading all of an index of living workers looks as cheap as one endpoint's, and a plan that took the wrong one
    // would read the whole fleet for each endpoint until the next analyze.
    index('worker_endpoint_living_idx').on(t.endpointId).where(sql`ended_at IS NULL AND endpoint_id <> ''`),
    index('worker_machine_idx').on(t.machineId),
    index('worker_machine_living_idx').on(t.machineId).where(sql`ended_at IS NULL AND machine_id <> ''`),
    index('worker_single_use_idx').on(t.endpointId).where(sql`single_use`),
    check('worker_desired_known', sql`${t.desired} IN ('RUN', 'FREEZE', 'DRAIN', 'GONE')`),
    check(
      'worker_state_known',
      sql`${t.state} IN ('INITIALIZING', 'READY', 'FROZEN', 'DRAINING', 'UNHEALTHY', 'STOPPED')`,
    ),
    check('worker_health_known', sql`${t.health} IN ('', 'INITIALIZING', 'READY', 'UNHEALTHY')`),
  ],
);
