/** Builds an agent from its configuration: all parts, by hand, in one place. Nothing runs before `start`. */

import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Disk } from '@slipway/kit/host/disk';
import { machineDisk } from '@slipway/kit/host/disk';
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import type { Transport } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay, systemClock, systemRandom } from '@slipway/kit/time/clock';
import { agentMetrics } from './agent-metrics.ts';
import { bodyBudget } from './bridge/raw-body.ts';
import { Bridge } from './bridge/server.ts';
import type { AttemptParts } from './build-attempts.ts';
import { buildAttempts } from './build-attempts.ts';
import { buildHello } from './build-hello.ts';
import type { UnitBase } from './build-units.ts';
import { buildUnitBase } from './build-units.ts';
import type { AgentConfig } from './config.ts';
import { ContainerHost } from './container-host.ts';
import { openState, takeDataFolder } from './data-folder.ts';
import { findHttpServer } from './find-http-server.ts';
import type { AgentInstance } from './inventory/agent-instance.ts';
import { takeInstance } from './inventory/agent-instance.ts';
import { freeMemoryShare } from './inventory/host-size.ts';
import { MachineGpus } from './inventory/machine-gpus.ts';
import { machineId } from './inventory/machine-id.ts';
import { ConnectLoop } from './session/connect-loop.ts';
import { ImageSettler } from './session/image-settler.ts';
import { Inbound } from './session/inbound.ts';
import { Lease } from './session/lease.ts';
import { StartInventory } from './start-inventory.ts';
import { Takeover } from './takeover.ts';
import { TunnelKeeper } from './tunnel/tunnel-keeper.ts';
import { PodFiles } from './units/pods/pod-files.ts';
import { PodKeeper } from './units/pods/pod-keeper.ts';
import { StandbyRoom } from './units/workers/standby-room.ts';
import { dropAllIn } from './users/given-folder.ts';
import { SharedFolders } from './users/shared-folder.ts';

/** A built agent. */
export interface Agent {
  /**
   * Resolves when workers can be started; being connected to core is not waited for. `address` is the bridge's,
   * `metrics` where they are read, empty: nowhere. DataFolderError, WorkerUserError.
   */
  start(): Promise<{ address: string; machineId: string; metrics: string }>;
  /**
   * Ends the workers, hands their results over as far as core can be reached, and stops. With `keepContainers` units in
   * containers go on: the next agent takes them up, or the reaper ends them with the lease.
   */
  stop(options?: { keepContainers: boolean }): Promise<void>;
  /** Its parts that run by themselves, in the order in which they start. */
  readonly services: readonly Service[];
}

/** How often the slow checks run, in milliseconds. */
const WATCH_PERIOD_MS = 250;
const OLD_LOGS_PERIOD_MS = 60_000;
/**
 * How long the last outcomes and reports may take when the agent stops, in milliseconds. Outcomes are on disk anyway.
 */
const FAREWELL_MS = 1_000;

/**
 * What an agent takes from outside: clock, chance, the way to core and the disk of what must outlive it are the
 * machine's own unless given.
 */
export interface AgentSeams {
  logger: Logger;
  clock?: Clock;
  random?: Random;
  transport?: Transport;
  disk?: Disk;
}

/** Nothing runs before `start`. */
export function buildAgent(config: AgentConfig, given: AgentSeams): Agent {
  const agent = new AgentProcess(config, {
    clock: systemClock,
    random: systemRandom,
    transport: systemTransport,
    disk: machineDisk,
    ...given,
  });
  return {
    services: agent.services,
    start: async () => {
      await agent.start();
      return agent.place;
    },
    stop: ({ keepContainers } = { keepContainers: false }) => {
      agent.keepContainers = keepContainers;
      return agent.stop();
    },
  };
}

class AgentProcess extends SingleRunService {
  readonly name = 'agent';
  /** When it stops. */
  keepContainers = false;
  readonly #config: AgentConfig;
  readonly #seams: Required<AgentSeams>;
  readonly #settler: ImageSettler;
  readonly #containers: ContainerHost;
  readonly #units: UnitBase;
  readonly #parts: AttemptParts;
  readonly #pods: PodKeeper;
  readonly #bridge: Bridge;
  readonly #inbound: Inbound;
  readonly #lease: Lease;
  readonly #takeover: Takeover;
  readonly #gpus: MachineGpus;
  readonly #inventory: StartInventory;
  readonly #stopping = new AbortController();
  readonly #measures: MetricsServer;
  #isConnected = false;
  /** In the order in which they start. */
  readonly services: readonly Service[];
  #unlock: () => void = () => undefined;
  #instance: AgentInstance = { instance: '', replaces: '' };
  #machineId = '';

  constructor(config: AgentConfig, seams: Required<AgentSeams>) {
    super();
    const { logger, clock, random } = seams;
    this.#config = config;
    const tls = new TlsSource(config.coreTls);
    this.#seams = seams;
    this.#settler = new ImageSettler({ clock, random });
    const metrics = new Metrics();
    this.#measures = new MetricsServer({ listen: config.metricsListen, metrics, logger });
    const bodies = bodyBudget();
    const meter = agentMetrics(
      metrics,
      {
        attempts: () => this.#parts.table.size,
        connected: () => this.#isConnected,
        gpus: () => this.#gpus.all,
        gpuLoads: () => this.#gpus.loads,
        spooled: () => ({ outcomes: this.#parts.spool.size, bytes: this.#parts.spool.bytes }),
        budgets: {
          bodies: () => bodies.fill,
          inputs: () => this.#parts.intake.fill,
          chunks: () => this.#parts.chunks.fill,
        },
      },
      clock,
    );
    this.#containers = new ContainerHost({
      config,
      logger,
      clock,
      random,
      openBridge: (address) => this.#bridge.listenAt(address, this.#takeover.formerPort(address)),
      keepsAny: () => this.#parts.runLog.keepsAny,
      onChanged: () => this.#parts.outbox.addContainers(),
      onPull: meter.onPull,
      holdsSizes: () => this.#units.volumes.holdsSizes(),
    });
    this.#units = buildUnitBase({
      config,
      logger,
      clock,
      container: this.#containers,
      late: { gpus: () => this.#gpus.all, machineId: () => this.#machineId, bridgeUrl: () => this.#bridge.url },
      settleImage: (request) => this.#settler.settle(request),
      onStart: meter.onStart,
    });
    const tracing = tracingOf('agent', config);
    this.#parts = buildAttempts({
      config,
      ...seams,
      tracing,
      units: this.#units,
      onAttemptEnd: meter.onAttemptEnd,
      onOutOfMemory: meter.onOutOfMemory,
    });
    this.#pods = this.#buildPods();
    // What waits for its work is bounded by the room for bodies, and a result must not be refused.
    const work = new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock });
    const bridgeParts = {
      ...this.#parts,
      toCore: this.#parts.outbox,
      bodies,
      work,
      clock,
      random,
      logger,
      stopping: this.#stopping.signal,
      countCalls: config.metricsListen === '' ? undefined : meter.countBridgeCalls,
    };
    this.#bridge = new Bridge({ parts: bridgeParts, port: config.bridgePort });
    this.#lease = new Lease({
      clock,
      onExpired: () => {
        // Core may give every attempt away now, so none may go on here.
        if (!this.#takeover.expire())
          this.#parts.stopper.endAll('The agent could not reach core for as long as its lease lasts.');
      },
    });
    this.#takeover = new Takeover({
      ...this.#parts,
      pods: this.#pods,
      containers: this.#containers,
      lease: this.#lease,
      clock,
      logger,
    });
    this.#inbound = new Inbound({
      ...this.#parts,
      pods: this.#pods,
      images: this.#containers,
      archive: this.#units.archive,
      clock,
      logger,
    });
    const connect = this.#buildConnectLoop(tls);
    this.#gpus = new MachineGpus({
      ...seams,
      virtual: config.virtualGpus,
      onHealth: () => connect.renew('a GPU came or went'),
      onLoads: () => this.#parts.outbox.addGpuLoads(),
    });
    const oldLogs = new Loop({
      name: 'old-logs',
      periodMs: OLD_LOGS_PERIOD_MS,
      pass: () => this.#units.archive.prune(),
      ...this.#seams,
    });
    const certificates = new CertificateWatch({ prefix: 'slipway_agent', check: () => tls.check(), metrics, ...seams });
    const [gpus, containers, takeover, inbound, bridge, units] = [
      this.#gpus,
      this.#containers,
      this.#takeover,
      this.#inbound,
      this.#bridge,
      this.#units,
    ];
    this.#inventory = new StartInventory({
      ...seams,
      gpus,
      containers,
      takeover,
      inbound,
      connect,
      bridge,
      units,
      dataDir: config.dataDir,
    });
    const rest = [this.#buildTunnels(tls), ...this.#gpus.services, oldLogs, certificates, this.#measures];
    this.services = [...(tracing ? [tracing] : []), this.#bridge, this.#buildWatch(), connect, ...rest];
  }

  /** Where workers find it, and as which machine core knows it. Once it has started. */
  get place(): { address: string; machineId: string; metrics: string } {
    return { address: this.#bridge.url, machineId: this.#machineId, metrics: this.#measures.address };
  }

  protected override async onStart(): Promise<void> {
    const { dataDir } = this.#config;
    const { users, archive, scratchFolder, podsFolder } = this.#units;
    this.#unlock = await takeDataFolder(dataDir, users.differ);
    await dropAllIn(scratchFolder).catch((error: unknown) =>
      this.#seams.logger.warn({ err: error }, 'old scratch folders were not removed'),
    );
    await users.open(dataDir, [scratchFolder, podsFolder]);
    const id = await openState(dataDir, () => machineId(dataDir, this.#seams.random));
    this.#instance = await takeInstance(dataDir, this.#seams.random);
    await openState(dataDir, () => archive.open());
    const recovered = await openState(dataDir, () => this.#parts.outcomes.recover());
    await this.#takeover.open();
    this.#machineId = id;
    await this.#inventory.take({ id, instance: this.#instance.instance }, this.ending);
    await startAll(this.services, this.#seams.logger, this.ending);
    this.#seams.logger.info(
      { machineId: id, gpus: this.#gpus.all.length, recovered, bridge: this.#bridge.url },
      'agent started',
    );
  }

  protected override async onStop(): Promise<void> {
    this.#inbound.close();
    await this.#inventory.stop();
    this.#stopping.abort();
    if (this.keepContainers) await this.#containers.pause();
    await Promise.all([this.#parts.pool.stopAll(this), this.#pods.stop(this)]);
    await Promise.race([this.#farewell(), delay(this.#seams.clock, FAREWELL_MS)]);
    if (this.keepContainers) await this.#takeover.leave(() => this.#bridge.drain());
    await stopAll(this.services, this.#seams.logger);
    await this.#containers.stop();
    for (const executor of [this.#units.executors.process, this.#units.executors.container]) await executor?.close();
    this.#lease.close();
    this.#parts.outcomes.writeAll();
    try {
      await this.#parts.spool.close();
    } finally {
      await this.#parts.runLog.close().finally(() => this.#unlock());
    }
    this.#seams.logger.info('agent stopped');
  }

  /** The ends of workers follow the acknowledgements of their outcomes, and must leave before the session ends. */
  async #farewell(): Promise<void> {
    await this.#parts.outcomes.idle();
    await this.#parts.outbox.idle();
  }

  #buildPods(): PodKeeper {
    const { launcher, archive, handover, starts, onStart, podsFolder } = this.#units;
    const { outbox, runLog, reach } = this.#parts;
    return new PodKeeper({
      ...this.#seams,
      reach,
      launcher,
      archive,
      handover,
      starts,
      onStart,
      graceMs: this.#config.workerGraceMs,
      files: new PodFiles(podsFolder, new SharedFolders(this.#seams.logger)),
      onChanged: (podId) => {
        runLog.pod(podId, this.#pods.get(podId)?.keepsake);
        outbox.addPod(podId);
      },
    });
  }

  #buildWatch(): Service {
    const { pool, stopper, watch } = this.#parts;
    const standbyRoom = new StandbyRoom({ pool, freeShare: freeMemoryShare, ...this.#seams });
    return new Loop({
      name: 'watch',
      periodMs: WATCH_PERIOD_MS,
      pass: async () => {
        pool.pass();
        standbyRoom.pass();
        this.#pods.pass();
        stopper.pass();
        watch.pass();
        this.#takeover.beat();
      },
      ...this.#seams,
    });
  }

  #buildConnectLoop(tls: TlsSource): ConnectLoop {
    const { outbox, large, chunks, outcomes, pool, reporter } = this.#parts;
    const { coreAddresses: addresses, key } = this.#config;
    return new ConnectLoop({
      addresses,
      tls,
      key,
      outbox,
      reports: {
        worker: (id) => {
          const worker = pool.get(id);
          return worker && reporter.take(worker);
        },
        pod: (id) => this.#pods.get(id)?.report(),
        containers: () => this.#containers.has,
        gpuLoads: () => ({ loads: [...this.#gpus.loads] }),
      },
      lease: this.#lease,
      ...this.#seams,
      hello: () =>
        buildHello({
          config: this.#config,
          machineId: this.#machineId,
          gpus: this.#gpus,
          instance: this.#instance,
          has: this.#containers.has,
          parts: this.#parts,
          pods: this.#pods,
        }),
      onUp: (link) => {
        this.#isConnected = true;
        large.up(link);
        this.#settler.up(link);
        // Chunks first: an outcome must not overtake them.
        chunks.sendAll();
        outcomes.sendAll();
      },
      onDown: () => {
        this.#isConnected = false;
        large.down();
        this.#settler.down();
      },
      onMessage: (message) => this.#inbound.receive(message),
    });
  }

  #buildTunnels(tls: TlsSource): Service {
    const { tunnelAddresses: addresses, key } = this.#config;
    return new TunnelKeeper({
      addresses,
      tls,
      key,
      ...this.#seams,
      find: (name) => findHttpServer(name, this.#parts.pool, this.#pods),
    });
  }
}
