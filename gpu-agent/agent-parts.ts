/** Builds all parts of an agent, by hand, in one place. Nothing runs before they are started. */

import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Disk } from '@slipway/kit/host/disk';
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import type { Transport } from '@slipway/kit/net/channel';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { Adoption } from './adoption.ts';
import type { AgentMeter } from './agent-metrics.ts';
import { agentMetrics } from './agent-metrics.ts';
import { bodyBudget } from './bridge/raw-body.ts';
import { Bridge } from './bridge/server.ts';
import type { AttemptParts } from './build-attempts.ts';
import { buildAttempts } from './build-attempts.ts';
import { buildConnectLoop } from './build-connect-loop.ts';
import type { WorkloadBase } from './build-workloads.ts';
import { buildWorkloadBase } from './build-workloads.ts';
import type { AgentConfig } from './config.ts';
import { ContainerHost } from './container-host.ts';
import { findHttpServer } from './find-http-server.ts';
import { buildGpuMemory } from './gpu-memory/build-gpu-memory.ts';
import type { GpuMemory } from './gpu-memory/gpu-memory.ts';
import type { ImageHost } from './hosts/image-host.ts';
import { KubernetesHost } from './hosts/kubernetes-host.ts';
import { AgentKey } from './identity/agent-key.ts';
import { IdentityFiles } from './identity/identity-files.ts';
import { Joining } from './identity/joining.ts';
import { PoolSettings } from './identity/pool-settings.ts';
import type { AgentInstance } from './inventory/agent-instance.ts';
import { freeMemoryShare } from './inventory/host-size.ts';
import { MachineGpus } from './inventory/machine-gpus.ts';
import { ModelHost } from './model-host.ts';
import { AGENT_VERSION } from './session/agent-version.ts';
import type { ConnectLoop } from './session/connect-loop.ts';
import { ImageResolver } from './session/image-resolver.ts';
import { Inbound } from './session/inbound.ts';
import { Lease } from './session/lease.ts';
import { ModelResolver } from './session/model-resolver.ts';
import { StartInventory } from './start-inventory.ts';
import { TunnelPool } from './tunnel/tunnel-pool.ts';
import { SharedFolders } from './users/shared-folder.ts';
import { PodFiles } from './workloads/pods/pod-files.ts';
import { PodRegistry } from './workloads/pods/pod-registry.ts';
import { memoryWatch } from './workloads/workers/memory-watch.ts';
import { StandbyCapacity } from './workloads/workers/standby-capacity.ts';

/** Interval of the watch pass, in milliseconds. */
const WATCH_PERIOD_MS = 250;
const OLD_LOGS_PERIOD_MS = 60_000;

/** Dependencies of an agent on the world outside it. */
export interface AgentDependencies {
  logger: Logger;
  clock: Clock;
  random: Random;
  transport: Transport;
  /** Disk of the data that must survive the agent's process. */
  disk: Disk;
  /** Called when core rejects the key before any session was open. Default: the agent tries again for ever. */
  onKeyRejected?(address: string, reason: string): void;
}

export class AgentParts {
  readonly config: AgentConfig;
  readonly deps: AgentDependencies;
  readonly imageResolver: ImageResolver;
  readonly modelResolver: ModelResolver;
  readonly models: ModelHost;
  readonly containers: ImageHost;
  readonly workloads: WorkloadBase;
  readonly attempts: AttemptParts;
  readonly pods: PodRegistry;
  readonly bridge: Bridge;
  readonly inbound: Inbound;
  readonly lease: Lease;
  readonly adoption: Adoption;
  readonly key: AgentKey;
  readonly gpus: MachineGpus;
  readonly gpuMemory: GpuMemory;
  readonly inventory: StartInventory;
  readonly metricsServer: MetricsServer;
  /** Aborts when the agent begins to stop. */
  readonly stopping = new AbortController();
  /** Services in the order in which they start. */
  readonly services: readonly Service[];
  /** A session with core is open. */
  isConnected = false;
  /** Identity of this run, known once the data folder was opened. */
  instance: AgentInstance = { instance: '', replaces: '' };
  machineId = '';
  /** Key and certificate of a machine that joined with a token. */
  readonly identity: IdentityFiles;
  readonly joining: Joining;
  readonly settings: PoolSettings;
  readonly #tls: TlsSource;
  #renew: (reason: string) => void = () => undefined;
  /** Budget for bodies that workers send, shared by all requests to the bridge. */
  readonly #bodies = bodyBudget();
  readonly #metrics = new Metrics();

  constructor(config: AgentConfig, deps: AgentDependencies) {
    this.config = config;
    this.deps = deps;
    this.#tls = new TlsSource(config.coreTls);
    this.identity = new IdentityFiles(config.dataDir);
    const { joinToken: token, coreAddresses: addresses } = config;
    this.joining = new Joining({ ...deps, ...config, files: this.identity, token, addresses });
    this.settings = new PoolSettings({ ...config, ...deps, onChanged: () => void this.#describeAgain() });
    this.imageResolver = new ImageResolver(deps);
    this.modelResolver = new ModelResolver(deps);
    const meter = this.#buildMeter();
    this.models = this.#buildModels(meter);
    this.metricsServer = new MetricsServer({ ...deps, listen: config.metricsListen, metrics: this.#metrics });
    this.containers = this.#buildContainers(meter);
    const onUnsupported = (): void => this.#renew('GPU memory cannot be moved');
    this.gpuMemory = buildGpuMemory(this.settings, config.hostEnv, { ...deps, ...meter, onUnsupported });
    this.workloads = this.#buildWorkloads(meter);
    const tracing = tracingOf('agent', AGENT_VERSION, config);
    this.lease = this.#buildLease();
    this.attempts = buildAttempts({ config, ...deps, ...meter, tracing, workloads: this.workloads, lease: this.lease });
    this.pods = this.#buildPods();
    this.bridge = this.#buildBridge(meter);
    const { attempts, pods, containers, lease, settings, models } = this;
    this.adoption = new Adoption({ ...attempts, ...deps, pods, containers, lease });
    const { archive } = this.workloads;
    this.inbound = new Inbound({ ...attempts, ...deps, pods, images: containers, settings, models, archive });
    this.key = new AgentKey({ ...config, ...deps, onReplaced: () => this.#renew('the agent key was replaced') });
    const connect = buildConnectLoop(this, this.#tls);
    this.#renew = (reason) => connect.renew(reason);
    this.gpus = this.#buildGpus(connect);
    this.inventory = new StartInventory({ ...this, ...deps, connect, dataDir: config.dataDir });
    const early = [...(tracing ? [tracing] : []), this.bridge, this.models, this.#buildWatch(), connect];
    this.services = [...early, this.#buildTunnels(), ...this.gpus.services, ...this.#buildUpkeep(), this.metricsServer];
  }

  /** Describes the machine to core again, after its pool has changed what it may take. */
  async #describeAgain(): Promise<void> {
    await this.gpuMemory.check(this.gpus.all);
    this.#renew('the settings of its pool have changed');
  }

  #buildMeter(): AgentMeter {
    return agentMetrics(
      this.#metrics,
      {
        attempts: () => this.attempts.table.size,
        connected: () => this.isConnected,
        gpus: () => this.gpus.all,
        gpuLoads: () => this.gpus.loads,
        offloadedBytes: () => this.gpuMemory.usedBytes,
        modelDisk: () => this.models.store,
        spooled: () => ({ outcomes: this.attempts.spool.size, bytes: this.attempts.spool.bytes }),
        budgets: {
          bodies: () => this.#bodies.fill,
          inputs: () => this.attempts.intake.fill,
          chunks: () => this.attempts.chunks.fill,
        },
      },
      this.deps.clock,
    );
  }

  #buildContainers({ onPull }: AgentMeter): ImageHost {
    const { kubernetes: settings } = this.config;
    const options = {
      config: this.config,
      ...this.deps,
      openBridge: (address: string) => this.bridge.listenAt(address, this.adoption.previousPort(address)),
      onChanged: () => this.attempts.outbox.addContainers(),
    };
    if (settings)
      return new KubernetesHost({ ...options, settings, onGpus: (gpus) => this.gpus.renew(gpus, this.machineId) });
    const hasRecords = (): boolean => this.attempts.runLog.hasRecords;
    const holdsSizes = (): Promise<boolean> => this.workloads.volumes.holdsSizes();
    return new ContainerHost({ ...options, budget: this.settings, hasRecords, onPull, holdsSizes });
  }

  #buildModels({ onModel, onModelBytes }: AgentMeter): ModelHost {
    return new ModelHost({
      config: this.config,
      settings: this.settings,
      ...this.deps,
      onModel,
      onModelBytes,
      settle: (request) => this.modelResolver.resolve(request),
      workerIds: () => new Set(this.attempts.pool.all().flatMap(({ id, hasEnded }) => (hasEnded ? [] : [id]))),
      onChanged: () => this.attempts.outbox.addModels(),
    });
  }

  #buildWorkloads({ onStart }: AgentMeter): WorkloadBase {
    return buildWorkloadBase({
      config: this.config,
      ...this.deps,
      container: this.containers,
      started: { gpus: () => this.gpus.all, machineId: () => this.machineId, bridgeUrl: () => this.bridge.url },
      resolveImage: (request) => this.imageResolver.resolve(request),
      models: this.models,
      gpuMemory: this.gpuMemory,
      onStart,
    });
  }

  #buildBridge({ countBridgeCalls }: AgentMeter): Bridge {
    const { attempts, config, deps } = this;
    // Queued work is bounded by the budget for bodies, and a result must not be rejected.
    const work = new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock: deps.clock });
    const parts = {
      ...attempts,
      ...deps,
      toCore: attempts.outbox,
      bodies: this.#bodies,
      work,
      stopping: this.stopping.signal,
      countCalls: config.metricsListen === '' ? undefined : countBridgeCalls,
    };
    return new Bridge({ parts, port: config.bridgePort });
  }

  #buildLease(): Lease {
    return new Lease({
      clock: this.deps.clock,
      onExpired: () => {
        // Core may give every attempt away now, so none may continue here.
        if (!this.adoption.expire())
          this.attempts.stopper.endAll('The agent could not reach core for as long as its lease lasts.');
      },
    });
  }

  #buildPods(): PodRegistry {
    const { outbox, runLog, reach } = this.attempts;
    return new PodRegistry({
      ...this.workloads,
      ...this.deps,
      reach,
      graceMs: this.config.workerGraceMs,
      files: new PodFiles(this.workloads.podsFolder, new SharedFolders(this.deps.logger)),
      onChanged: (podId) => {
        runLog.pod(podId, this.pods.get(podId)?.record);
        outbox.addPod(podId);
      },
    });
  }

  #buildGpus(connect: ConnectLoop): MachineGpus {
    return new MachineGpus({
      ...this.deps,
      ...{ virtual: this.config.virtualGpus, ask: this.gpuMemory.ask },
      read: this.containers.readGpus && (() => this.containers.readGpus!()),
      onHealth: () => connect.renew('the GPUs changed'),
      onLoads: () => this.attempts.outbox.addGpuLoads(),
    });
  }

  #buildWatch(): Service {
    const { pool, stopper, watch } = this.attempts;
    const standbyCapacity = new StandbyCapacity({ pool, freeShare: freeMemoryShare, ...this.deps });
    const parts = [pool, standbyCapacity, this.pods, stopper, watch];
    return new Loop({
      ...{ name: 'watch', periodMs: WATCH_PERIOD_MS },
      pass: async () => {
        for (const part of parts) part.pass();
        this.adoption.beat();
      },
      ...this.deps,
    });
  }

  #buildTunnels(): Service {
    const { tunnelAddresses: addresses, trust } = this.config;
    const key = (): string => this.key.current || this.identity.facts.tunnelKey;
    const find = (name: string) => findHttpServer(name, this.attempts.pool, this.pods);
    return new TunnelPool({ addresses, tls: new TlsSource(trust), key, ...this.deps, find });
  }

  /** Returns the services that remove old logs and read changed certificates. */
  #buildUpkeep(): Service[] {
    const pass = (): Promise<void> => this.workloads.archive.prune();
    const check = (): ReturnType<TlsSource['check']> => this.#tls.check();
    return [
      memoryWatch({ ...this.attempts, ...this.deps, gpuMemory: this.gpuMemory }),
      this.attempts.workerLoads,
      this.config.key === '' ? this.joining : this.key,
      new Loop({ name: 'old-logs', periodMs: OLD_LOGS_PERIOD_MS, pass, ...this.deps }),
      new CertificateWatch({ ...this.deps, prefix: 'slipway_agent', check, metrics: this.#metrics }),
    ];
  }
}
