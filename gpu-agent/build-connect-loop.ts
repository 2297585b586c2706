/** Connects the parts of the agent to its session with core. */

import type { TlsSource } from '@slipway/kit/net/tls-source';
import { ReplicaList } from '@slipway/kit/replicas/replica-list';
import { JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { AttemptParts } from './build-attempts.ts';
import { buildHello } from './build-hello.ts';
import type { AgentConfig } from './config.ts';
import type { GpuMemory } from './gpu-memory/gpu-memory.ts';
import type { ImageHost } from './hosts/image-host.ts';
import type { AgentKey } from './identity/agent-key.ts';
import type { IdentityFiles } from './identity/identity-files.ts';
import type { PoolSettings } from './identity/pool-settings.ts';
import type { AgentInstance } from './inventory/agent-instance.ts';
import type { MachineGpus } from './inventory/machine-gpus.ts';
import type { ModelHost } from './model-host.ts';
import type { ConnectOptions } from './session/connect-loop.ts';
import { ConnectLoop } from './session/connect-loop.ts';
import type { ImageResolver } from './session/image-resolver.ts';
import type { Inbound } from './session/inbound.ts';
import type { Lease } from './session/lease.ts';
import type { ModelResolver } from './session/model-resolver.ts';
import type { PodRegistry } from './workloads/pods/pod-registry.ts';

/** Parts of the agent that the session reads from and reports to. */
interface ConnectedParts {
  readonly config: AgentConfig;
  readonly deps: Pick<ConnectOptions, 'logger' | 'clock' | 'random' | 'transport' | 'onKeyRejected'>;
  readonly attempts: AttemptParts;
  readonly pods: PodRegistry;
  readonly containers: ImageHost;
  readonly gpus: MachineGpus;
  readonly gpuMemory: GpuMemory;
  readonly imageResolver: ImageResolver;
  readonly modelResolver: ModelResolver;
  readonly models: ModelHost;
  readonly inbound: Inbound;
  readonly lease: Lease;
  readonly identity: IdentityFiles;
  readonly settings: PoolSettings;
  readonly key: AgentKey;
  readonly instance: AgentInstance;
  readonly machineId: string;
  isConnected: boolean;
}

/** Returns the loop that keeps a session with core. The parts are read when a session opens, not before. */
export function buildConnectLoop(parts: ConnectedParts, tls: TlsSource): ConnectLoop {
  const { config, deps, attempts, lease, imageResolver, modelResolver } = parts;
  const { outbox, large, chunks, outcomes, pool, reporter } = attempts;
  const list = new ReplicaList({
    ...{ ...deps, configured: config.coreAddresses, tls },
    ...{ service: JoinServiceClient, periodMs: LINK_TIMERS.agentReplicaListMs },
  });
  return new ConnectLoop({
    ...deps,
    addresses: list.addresses,
    list,
    tls,
    key: () => parts.key.current,
    outbox,
    reports: {
      worker: (id) => {
        const worker = pool.get(id);
        return worker && reporter.take(worker);
      },
      pod: (id) => parts.pods.get(id)?.report(),
      containers: () => parts.containers.has,
      gpuLoads: () => ({ loads: [...parts.gpus.loads], workers: { ...attempts.workerLoads.loads } }),
      models: () => parts.models.report(),
    },
    lease,
    hello: () => buildHello({ ...parts, parts: attempts }),
    onUp: (link) => {
      parts.isConnected = true;
      large.up(link);
      imageResolver.up(link);
      modelResolver.up(link);
      // Chunks first: an outcome must not overtake them.
      chunks.sendAll();
      outcomes.sendAll();
    },
    onDown: () => {
      parts.isConnected = false;
      large.down();
      imageResolver.down();
      modelResolver.down();
    },
    onMessage: (message) => parts.inbound.receive(message),
  });
}
