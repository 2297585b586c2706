/** Facts of machines, as their rows hold them. */

import type { EngineRow, GpuRow } from '@slipway/drizzle/schema/machine';
import type { GpuLoad } from '../../domain/machines/gpu-load.ts';
import type { MachineRow } from '../scaling/placement-view.ts';

/** What an agent says about its machine. */
export interface MachineFacts {
  id: string;
  name: string;
  gpus: GpuRow[];
  locations: string[];
  cpuSlots: number;
  agentVersion: string;
  cudaVersion: string;
  cpuCount: number;
  memoryMib: number;
  cpuModel: string;
  cpuThreadsPerCore: number;
  /** Frozen workers that it keeps at most. */
  standbyMax: number;
  runsCommands: boolean;
  /** Null: nothing runs images there. */
  engine: EngineRow | null;
  noEngineReason: string;
}

/** A machine and whether it is here. */
export interface MachineStatus extends MachineFacts {
  connected: boolean;
  /** Its operator wants nothing new there. */
  cordoned: boolean;
  seenAtMs: number;
  /** GPUs that pods hold, by uuid. */
  podGpuUuids: string[];
  /** None while it is away. */
  gpuLoads: GpuLoad[];
}

export function factsOf(row: MachineRow): MachineFacts {
  const { id, name, gpus, locations } = row;
  return {
    id,
    name,
    gpus,
    locations,
    cpuSlots: row.cpu_slots,
    agentVersion: row.agent_version,
    cudaVersion: row.cuda_version,
    cpuCount: row.cpu_count,
    memoryMib: row.memory_mib,
    cpuModel: row.cpu_model,
    cpuThreadsPerCore: row.cpu_threads_per_core,
    standbyMax: row.standby_max,
    runsCommands: row.runs_commands,
    engine: row.engine,
    noEngineReason: row.no_engine_reason,
  };
}
