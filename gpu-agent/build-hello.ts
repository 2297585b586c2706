/** Builds the hello: an agent's description of itself and its machine at the start of a session. */
import type { Hello } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptParts } from './build-attempts.ts';
import type { AgentConfig } from './config.ts';
import type { GpuMemory } from './gpu-memory/gpu-memory.ts';
import type { ImageHost } from './hosts/image-host.ts';
import type { IdentityFiles } from './identity/identity-files.ts';
import type { PoolSettings } from './identity/pool-settings.ts';
import type { AgentInstance } from './inventory/agent-instance.ts';
import { hostSize } from './inventory/host-size.ts';
import type { MachineGpus } from './inventory/machine-gpus.ts';
import { AGENT_VERSION } from './session/agent-version.ts';
import type { PodRegistry } from './workloads/pods/pod-registry.ts';

/** Sources of a hello. */
interface HelloParts {
  config: AgentConfig;
  identity: Pick<IdentityFiles, 'locations' | 'pool'>;
  settings: Pick<PoolSettings, 'standbyMax'>;
  machineId: string;
  gpus: MachineGpus;
  gpuMemory: Pick<GpuMemory, 'fault' | 'budgetBytes' | 'usedBytes'>;
  instance: AgentInstance;
  containers: Pick<ImageHost, 'has' | 'size' | 'occupantOf'>;
  parts: Pick<AttemptParts, 'pool' | 'reporter' | 'table'>;
  pods: PodRegistry;
}

/** Builds the hello. */
export function buildHello({
  config,
  identity,
  settings,
  machineId,
  gpus,
  gpuMemory,
  instance,
  containers,
  parts,
  pods,
}: HelloParts): Hello {
  const { name, cpuSlots, prefetch } = config;
  const { engine, noEngineReason, images } = containers.has;
  const { pool, reporter, table } = parts;
  return {
    machine: {
      ...hostSize(),
      ...containers.size,
      id: machineId,
      name,
      locations: identity.locations(config.locations),
      pool: identity.pool,
      cpuSlots,
      standbyMax: settings.standbyMax,
      agentVersion: AGENT_VERSION,
      cudaVersion: gpus.cudaVersion,
      gpus: gpus.all.map((gpu) => {
        const { fault, warning, faultMark } = gpus.healthOf(gpu.uuid);
        const occupiedBy = containers.occupantOf(gpu.uuid);
        return { ...gpu, displayName: '', unhealthy: fault, warning, faultMark, occupiedBy, cordoned: false };
      }),
      runsCommands: config.allowCommands,
      ephemeral: config.ephemeral,
      leaveTime: config.until,
      containerEngine: engine,
      noEngineReason,
      gpuOffload: {
        supported: gpuMemory.fault === '',
        unsupportedReason: gpuMemory.fault,
        standbyMemoryBytes: gpuMemory.budgetBytes,
        standbyMemoryUsedBytes: gpuMemory.usedBytes,
      },
    },
    workers: pool.all().map((worker) => reporter.take(worker)),
    attempts: table.refs(),
    pods: pods.reports(),
    images,
    prefetches: prefetch,
    recalls: true,
    ...instance,
  };
}
