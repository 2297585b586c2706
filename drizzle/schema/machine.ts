/** Machines with an agent, and the lease under which the agent may run attempts. */
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../orm.ts';
import { instant } from './columns.ts';

/** A GPU as its agent reported it. */
export interface GpuRow {
  uuid: string;
  name: string;
  memoryMib: number;
  migProfile: string;
  /** Why nothing may run on it, for people. Absent or empty: it is healthy. */
  unhealthy?: string;
  /** Program outside Slipway that holds it, for people. Absent or empty: none. */
  occupiedBy?: string;
  /** Human-readable warning; the GPU stays in use. Absent if there is none. */
  warning?: string;
  /** Health as its agent reported it. Absent if it equals `unhealthy` and `warning`. */
  reported?: { fault: string; warning: string; faultMark: string };
  /** True if its operator cordoned it. Absent: no. */
  cordoned?: true;
}

/** Decisions of the operator about a GPU. */
export interface GpuMarkRow {
  /** Nothing new is placed on it. */
  cordoned?: true;
  /** Latest event of the kernel log after which it was put back; see machine.proto, Gpu.fault_mark. */
  cleared?: string;
}

/** Load of a GPU. For the meaning of each field see machine.proto. Absent fields are unknown. */
export interface GpuLoadRow {
  uuid: string;
  utilization?: number;
  memoryUsedMib?: number;
  temperatureCelsius?: number;
  powerWatts?: number;
}

/** Use of processors and memory by a worker. For the meaning of each field see machine.proto. */
export interface HostLoadRow {
  processors?: number;
  memoryUsedMib?: number;
}

/** Container engine of a machine, as its agent reported it. For the meaning of each field see machine.proto. */
export interface EngineRow {
  name: string;
  version: string;
  gpuHandover: 'NONE' | 'CDI' | 'DEVICE_REQUEST' | 'VIRTUAL';
  limits: string[];
  imageTotalMib: number;
  imageFreeMib: number;
}

/** Offload of a machine, as its agent reported it. For the meaning of each field see machine.proto. */
export interface OffloadRow {
  supported: boolean;
  unsupportedReason: string;
  standbyMemoryBytes: number;
}

export const machine = pgTable(
  'machine',
  {
    /** 12 lowercase letters and digits, chosen by the agent. */
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    gpus: jsonb('gpus').$type<GpuRow[]>().notNull().default([]),
    /** Decisions of the operator by the UUID of a GPU. */
    gpuMarks: jsonb('gpu_marks').$type<Record<string, GpuMarkRow>>().notNull().default({}),
    /** Latest report of its agent. Empty: none yet in this session. */
    gpuLoads: jsonb('gpu_loads').$type<GpuLoadRow[]>().notNull().default([]),
    /** Latest report of its agent: use of processors and memory by worker. Empty: none yet in this session. */
    workerLoads: jsonb('worker_loads').$type<Record<string, HostLoadRow>>().notNull().default({}),
    /** Where it is: what its agent reported, and what it has from its pool. */
    locations: text('locations').array().notNull().default(sql`'{}'`),
    /** Locations that its agent reported. Empty until an agent that supports pools connects. */
    ownLocations: text('own_locations').array().notNull().default(sql`'{}'`),
    /** Pool of the token with which it joined. Empty: none. */
    pool: text('pool').notNull().default(''),
    cpuSlots: integer('cpu_slots').notNull().default(0),
    agentVersion: text('agent_version').notNull().default(''),
    cudaVersion: text('cuda_version').notNull().default(''),
    /** CPU count and memory. 0: unknown. */
    cpuCount: integer('cpu_count').notNull().default(0),
    memoryMib: bigint('memory_mib', { mode: 'number' }).notNull().default(0),
    /** Product name of the CPU, and threads per core. Empty and 0: unknown. */
    cpuModel: text('cpu_model').notNull().default(''),
    cpuThreadsPerCore: integer('cpu_threads_per_core').notNull().default(0),
    /**
     * True if its operator allows host commands. True for a machine that joined with a release that did not report it:
     * such a machine ran them.
     */
    runsCommands: boolean('runs_commands').notNull().default(true),
    /** True if its operator wants no new workers or pods there. Existing ones continue. */
    cordoned: boolean('cordoned').notNull().default(false),
    /** Time since which it is being drained. Null: it is not. */
    drainingSince: instant('draining_since'),
    /** Time at which its running jobs are handed back. Null: never. */
    drainDeadlineAt: instant('drain_deadline_at'),
    /** Why it is drained, for people. */
    drainReason: text('drain_reason').notNull().default(''),
    /** True if it is forgotten when it leaves. */
    ephemeral: boolean('ephemeral').notNull().default(false),
    /** Time at which it leaves. Null: not known. */
    leavesAt: instant('leaves_at'),
    /** Time at which its agent left for good. Null: it did not. */
    leftAt: instant('left_at'),
    /** Null: there is no container engine. */
    engine: jsonb('engine').$type<EngineRow>(),
    /** Why there is no engine. Empty with an engine. */
    noEngineReason: text('no_engine_reason').notNull().default(''),
    /** Most standby workers that it keeps. */
    standbyMax: integer('standby_max').notNull().default(0),
    /** Null: its agent does not know offload. */
    gpuOffload: jsonb('gpu_offload').$type<OffloadRow>(),
    /** Most that models may take on its disk, in bytes. 0: it takes none. */
    modelLimitBytes: bigint('model_limit_bytes', { mode: 'number' }).notNull().default(0),
    modelUsedBytes: bigint('model_used_bytes', { mode: 'number' }).notNull().default(0),
    /** Where other machines copy its models, as host:port. Empty: nowhere. */
    modelPeerAddress: text('model_peer_address').notNull().default(''),
    /** The session that owns the machine. A newer session replaces it. Null after the session ended normally. */
    sessionId: text('session_id'),
    /** Id of the agent's run that the session belongs to. Empty: the agent does not report it. */
    instance: text('instance').notNull().default(''),
    /** Time since which the machine belongs to that run. */
    instanceSince: instant('instance_since').notNull().defaultNow(),
    /** The core replica that holds the session: its address for other replicas. */
    replicaAddress: text('replica_address').notNull().default(''),
    /** Time until which the machine may hold its attempts. */
    leaseExpiresAt: instant('lease_expires_at').notNull().defaultNow(),
    seenAt: instant('seen_at').notNull().defaultNow(),
  },
  (t) => [index('machine_lease_idx').on(t.leaseExpiresAt)],
);

/** Images of machines, one row for each name of an image. */
export const machineImage = pgTable(
  'machine_image',
  {
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** Empty: it was not pulled from a registry. */
    digest: text('digest').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.machineId, t.name] })],
);

/** Models of machines, as their agents reported them. For the meaning of each field see machine.proto. */
export const machineModel = pgTable(
  'machine_model',
  {
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    /** The account whose token it took. 0: public. */
    accountNumber: integer('account_number').notNull(),
    repository: text('repository').notNull(),
    revision: text('revision').notNull(),
    /** Empty: not known yet. */
    commit: text('commit').notNull(),
    state: text('state').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
    downloadedBytes: bigint('downloaded_bytes', { mode: 'number' }).notNull(),
    /** Empty unless the state is FAILED. */
    fault: text('fault').notNull(),
    error: text('error').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.machineId, t.accountNumber, t.repository, t.revision] }),
    index('machine_model_repository_idx').on(t.repository),
    check('machine_model_state_known', sql`${t.state} IN ('DOWNLOADING', 'READY', 'FAILED')`),
  ],
);
