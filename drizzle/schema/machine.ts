/** Machines with an agent, and the lease under which their agents may run attempts. */
import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/** One GPU as its agent reported it. */
export interface GpuRow {
  uuid: string;
  name: string;
  memoryMib: number;
  migProfile: string;
}

export const machine = pgTable('machine', {
  /** 12 lowercase letters and digits, chosen by the agent. */
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  gpus: jsonb('gpus').$type<GpuRow[]>().notNull().default([]),
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
  /** The session that may speak for the machine; a newer session replaces it. Null after the session ended in order. */
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
}, (t) => [index('machine_lease_idx').on(t.leaseExpiresAt)]);
