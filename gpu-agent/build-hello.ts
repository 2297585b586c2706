/** What an agent says of itself and its machine when a session begins. */
import type { Hello, MachineContainers } from '../proto/gen/slipway/v1/agent_service.ts';
import type { AttemptParts } from './build-attempts.ts';
import type { AgentConfig } from './config.ts';
import type { AgentInstance } from './inventory/agent-instance.ts';
import { hostSize } from './inventory/host-size.ts';
import type { MachineGpu } from './inventory/machine-gpu.ts';
import { AGENT_VERSION } from './session/agent-version.ts';
import type { PodKeeper } from './units/pods/pod-keeper.ts';

/** What it is made of. */
export interface HelloParts {
  config: AgentConfig;
  machine: { id: string; gpus: readonly MachineGpu[]; cudaVersion: string };
  instance: AgentInstance;
  has: MachineContainers;
  parts: Pick<AttemptParts, 'pool' | 'reporter' | 'table'>;
  pods: PodKeeper;
  /** Why nothing may run on a GPU; empty: it is well. */
  faultOf(uuid: string): string;
}

/** Makes it. */
export function buildHello({ config, machine, instance, has, parts, pods, faultOf }: HelloParts): Hello {
  const { name, locations, cpuSlots, standbyMax, prefetch } = config;
  const { engine, noEngineReason, images } = has;
  const { id, gpus, cudaVersion } = machine;
  const { pool, reporter, table } = parts;
  return {
    machine: {
      ...hostSize(), id, name, locations, cpuSlots, standbyMax, agentVersion: AGENT_VERSION, cudaVersion,
      gpus: gpus.map((gpu) => ({ ...gpu, displayName: '', unhealthy: faultOf(gpu.uuid) })),
      runsCommands: config.allowCommands, containerEngine: engine, noEngineReason,
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
