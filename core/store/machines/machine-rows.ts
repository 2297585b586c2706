/** Facts about machines, as stored in their rows. */

import type { EngineRow, GpuRow, OffloadRow } from '@slipway/drizzle/schema/machine';
import type { DrainState } from '../../domain/machines/drain.ts';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';
import type { MachineRow } from '../scaling/placement-view.ts';

/** Facts that an agent reports about its machine. */
export interface MachineFacts {
  id: string;
  name: string;
  gpus: GpuRow[];
  /** Where it is, as its agent reported it; of a stored machine also what it has from its pool. */
  locations: string[];
  /** Empty: none. */
  pool: string;
  cpuSlots: number;
  agentVersion: string;
  cudaVersion: string;
  cpuCount: number;
  memoryMib: number;
  cpuModel: string;
  cpuThreadsPerCore: number;
  /** Most standby workers that it keeps. */
  standbyMax: number;
  /** Null: its agent does not know offload. */
  gpuOffload: OffloadRow | null;
  runsCommands: boolean;
  /** Null: there is no container engine. */
  engine: EngineRow | null;
  noEngineReason: string;
  /** It is forgotten when it leaves. */
  ephemeral: boolean;
  /** Null: not known. */
  leavesAt: Date | null;
}

/** A machine and its connection. */
export interface MachineStatus extends MachineFacts {
  connected: boolean;
  /** True if its operator wants no new workers or pods there. */
  cordoned: boolean;
  /** `undefined`: it is not being drained. */
  drain: DrainState | undefined;
  seenAtMs: number;
  /** UUIDs of the GPUs that pods hold. */
  podGpuUuids: string[];
  /** Empty while it is away. */
  gpuLoads: GpuLoad[];
  /** Bytes of its budget for offloaded workers that are in use. */
  standbyMemoryUsedBytes: number;
  /** Labels of its pool. */
  labels: Record<string, string>;
}

export function factsOf(row: MachineRow): MachineFacts {
  const { id, name, gpus, locations, pool } = row;
  return {
    id,
    name,
    gpus,
    locations,
    pool,
    cpuSlots: row.cpu_slots,
    agentVersion: row.agent_version,
    cudaVersion: row.cuda_version,
    cpuCount: row.cpu_count,
    memoryMib: row.memory_mib,
    cpuModel: row.cpu_model,
    cpuThreadsPerCore: row.cpu_threads_per_core,
    standbyMax: row.standby_max,
    gpuOffload: row.gpu_offload,
    runsCommands: row.runs_commands,
    engine: row.engine,
    noEngineReason: row.no_engine_reason,
    ephemeral: row.ephemeral,
    leavesAt: row.leaves_at_ms === null ? null : new Date(Number(row.leaves_at_ms)),
  };
}
