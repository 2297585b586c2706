/** Machines with an agent, and the lease under which their agents may run attempts. */
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../orm.ts';
import { instant } from './columns.ts';

/** One GPU as its agent reported it. */
export interface GpuRow {
  uuid: string;
  name: string;
  memoryMib: number;
  migProfile: string;
  /** Why nothing may run on it, for people. Absent or empty: it is well. */
  unhealthy?: string;
}

/** How busy a GPU is; machine.proto says what each field means. What is absent is not known. */
export interface GpuLoadRow {
  uuid: string;
  utilization?: number;
  memoryUsedMib?: number;
  temperatureCelsius?: number;
  powerWatts?: number;
}

/** What runs images on a machine, as its agent reported it; machine.proto says what each field means. */
export interface EngineRow {
  name: string;
  version: string;
  gpuHandover: 'NONE' | 'CDI' | 'DEVICE_REQUEST' | 'VIRTUAL';
  limits: string[];
  imageTotalMib: number;
  imageFreeMib: number;
}

export const machine = pgTable(
  'machine',
  {
    /** 12 lowercase letters and digits, chosen by the agent. */
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    gpus: jsonb('gpus').$type<GpuRow[]>().notNull().default([]),
    /** As its agent reported them last; empty = none yet in this session. */
    gpuLoads: jsonb('gpu_loads').$type<GpuLoadRow[]>().notNull().default([]),
    locations: text('locations').array().notNull().default(sql`'{}'`),
    cpuSlots: integer('cpu_slots').notNull().default(0),
    agentVersion: text('agent_version').notNull().default(''),
    cudaVersion: text('cuda_version').notNull().default(''),
    /** Processors and memory; 0 = not known. */
    cpuCount: integer('cpu_count').notNull().default(0),
    memoryMib: bigint('memory_mib', { mode: 'number' }).notNull().default(0),
    /** Product name of the processors, and how many of them share a core; empty and 0 = not known. */
    cpuModel: text('cpu_model').notNull().default(''),
    cpuThreadsPerCore: integer('cpu_threads_per_core').notNull().default(0),
    /**
     * Its operator allows commands of the host. True for one that joined by a release that did not ask: such a machine
     * ran them.
     */
    runsCommands: boolean('runs_commands').notNull().default(true),
    /** Its operator wants nothing new there; what is there goes on. */
    cordoned: boolean('cordoned').notNull().default(false),
    /** Null: nothing runs images there. */
    engine: jsonb('engine').$type<EngineRow>(),
    /** Why not; empty with an engine. */
    noEngineReason: text('no_engine_reason').notNull().default(''),
    /** Frozen workers that it keeps at most. */
    standbyMax: integer('standby_max').notNull().default(0),
    /**
     * The session that may speak for the machine; a newer session replaces it. Null after the session ended in order.
     */
    sessionId: text('session_id'),
    /** The run of the agent that the session is of; empty = an agent that does not say. */
    instance: text('instance').notNull().default(''),
    /** Since when that run has been the machine's. */
    instanceSince: instant('instance_since').notNull().defaultNow(),
    /** The core replica that holds the session, and where other replicas reach it. */
    replicaAddress: text('replica_address').notNull().default(''),
    /** Until when the machine's attempts are its own. */
    leaseExpiresAt: instant('lease_expires_at').notNull().defaultNow(),
    seenAt: instant('seen_at').notNull().defaultNow(),
  },
  (t) => [index('machine_lease_idx').on(t.leaseExpiresAt)],
);

/** Images that machines have, by each of their names. */
export const machineImage = pgTable(
  'machine_image',
  {
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** Empty: it came from no registry. */
    digest: text('digest').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.machineId, t.name] })],
);
