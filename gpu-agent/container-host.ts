/**
 * Container side of an agent: finds the engine, creates its executor, reports what the machine has, and keeps the
 * images within their budget.
 */
import { join } from 'node:path';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { DesiredImage, MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ContainerEngine } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';
import { untilCleaned } from './clean-host.ts';
import type { AgentConfig } from './config.ts';
import { ContainerExecutor } from './executors/container/container-executor.ts';
import { mapsUsers } from './executors/container/container-users.ts';
import type { Engine } from './executors/container/engine.ts';
import { imageSpace } from './executors/container/engine.ts';
import { EngineFinder } from './executors/container/engine-finder.ts';
import { HostFirewall } from './executors/container/host-firewall.ts';
import { hostPrograms } from './executors/container/host-programs.ts';
import { interfacePrefix, WorkloadNetworks } from './executors/container/workload-networks.ts';
import type { HostMachine, ImageHost } from './hosts/image-host.ts';
import { ImageCache, isNamed } from './images/image-cache.ts';
import type { OnPull } from './images/image-puller.ts';
import { ImageStore } from './images/image-store.ts';
import type { MachineGpu } from './inventory/machine-gpu.ts';
import { startReaper } from './start-reaper.ts';

/** Dependencies of the container host. */
interface ContainerHostOptions {
  config: AgentConfig;
  /** Disk that images may take. It may change. */
  budget: { readonly imageDiskGb: number };
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Listens for containers, too, at an address of this host. Returns the port. */
  openBridge(address: string): Promise<number>;
  /** Returns true if something runs that outlives this agent. */
  hasRecords(): boolean;
  /** Returns true if the sizes of network volumes are enforced. */
  holdsSizes(): Promise<boolean>;
  /** Called when `has` changed. */
  onChanged(): void;
  /** Counts pulls. */
  onPull: OnPull;
}

/** Interval between checks of engine and images, in milliseconds. */
const CHECK_PERIOD_MS = 10_000;
/** The same while workloads of the previous run wait for their engine. */
const WAITING_POLL_MS = 250;
/** Longest wait for a check in progress when the agent stops, in milliseconds: an engine may hang. */
const LAST_CHECK_MS_MAX = 5_000;
/** Most images that are reported. */
const IMAGES_MAX = 1_000;
const MIB = 1024 ** 2;
const GB = 1000 ** 3;

export class ContainerHost extends BaseService implements ImageHost {
  readonly name = 'containers';
  readonly size = {};
  readonly #options: ContainerHostOptions;
  readonly #imageCache: ImageCache;
  readonly #engines: EngineFinder;
  readonly #checks: Loop;
  #machine: HostMachine = { id: '', instance: '', gpus: [], left: { workloads: new Set(), waitMs: 0 } };
  #isSwept = false;
  #mayLose = false;
  #firewall: HostFirewall | undefined;
  #callOffReaper: (() => void) | undefined;
  #executor: ContainerExecutor | undefined;
  #bridgeUrl = '';
  /** `undefined` if core has not sent the list yet; no image may be removed until then. */
  #wanted: readonly DesiredImage[] | undefined;
  #has: MachineContainers = { engine: undefined, noEngineReason: 'not checked yet', images: [] };

  constructor(options: ContainerHostOptions) {
    super();
    const { config, budget, clock, random, logger } = options;
    this.#options = options;
    this.#imageCache = new ImageCache(join(config.dataDir, 'images.json'), () => budget.imageDiskGb * GB, clock);
    this.#engines = new EngineFinder(config.containers, clock);
    this.#checks = new Loop({
      name: this.name,
      periodMs: CHECK_PERIOD_MS,
      pass: () => this.#check(),
      clock,
      random,
      logger,
    });
  }

  /** Runs images. `undefined` if no engine has been found yet. */
  get executor(): ContainerExecutor | undefined {
    return this.#executor;
  }

  /** URL at which containers reach the bridge. */
  get bridgeUrl(): string {
    return this.#bridgeUrl;
  }

  /** True if data that a worker sends while no agent listens waits for the next one. */
  get isPatient(): boolean {
    return runsAsRoot() && !this.#mayLose && (this.#firewall?.isPatient ?? false);
  }

  /** Records that the agent stops and that something a worker sent may not have been accepted. */
  mayLose(): void {
    this.#mayLose = true;
  }

  /** Keeps workers, which outlive this agent, from connecting to it while it stops. Never rejects. */
  async pause(): Promise<void> {
    await this.#firewall?.pause().catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'workers may lose data that they send now');
      this.mayLose();
    });
  }

  /** Engine and images that the machine has now. */
  get has(): MachineContainers {
    return this.#has;
  }

  /** Sets what the machine is assumed to have until the first check. */
  assume(has: MachineContainers): void {
    this.#has = has;
  }

  /** Sets the facts about the machine. Must be called before `start`, and again when more is known. */
  setMachine(machine: HostMachine): void {
    this.#machine = machine;
  }

  /** Releases the workloads of the previous run: all of them were adopted or ended. */
  keepNothing(): void {
    this.#machine = { ...this.#machine, left: { workloads: new Set(), waitMs: 0 } };
  }

  /**
   * Sets the images that may be needed here. None of them is removed to free disk space. Missing ones are pulled if
   * prefetching is on.
   */
  want(images: readonly DesiredImage[]): void {
    this.#wanted = images;
    this.#checks.wake();
  }

  occupantOf(): string {
    return '';
  }

  protected override async onStart(): Promise<void> {
    await this.#imageCache.open();
    const { clock, config } = this.#options;
    await untilCleaned(config.dataDir, clock);
    const untilMs = clock.monotonicMs() + this.#machine.left.waitMs;
    await this.#check();
    while (!this.#executor && clock.monotonicMs() < untilMs && !this.ending.aborted) {
      await delay(clock, WAITING_POLL_MS, this.ending);
      await this.#check();
    }
    await this.#checks.start();
  }

  protected override async onStop(): Promise<void> {
    await Promise.race([this.#checks.stop(), delay(this.#options.clock, LAST_CHECK_MS_MAX)]);
    if (!this.#options.hasRecords()) this.#callOffReaper?.();
  }

  async #check(): Promise<void> {
    const before = JSON.stringify(this.#has);
    try {
      const engine = await this.#engines.find();
      await this.#use(engine);
      const store = new ImageStore(engine.docker);
      const removed = this.#wanted ? await this.#imageCache.shrink(store, this.#wanted) : 0;
      if (removed > 0) this.#options.logger.info({ removed }, 'images were removed to stay within the disk budget');
      this.#has = {
        engine: await describe(engine, this.#machine.gpus, await this.#options.holdsSizes()),
        noEngineReason: '',
        images: (await this.#imageCache.present(store)).slice(0, IMAGES_MAX),
      };
      if (this.#options.config.prefetch) await this.#prefetch(store);
    } catch (error) {
      // The engine may have lost or kept any container.
      this.#isSwept = false;
      this.#has = { engine: undefined, noEngineReason: (error as Error).message.slice(0, 1_024), images: [] };
    }
    if (JSON.stringify(this.#has) === before) return;
    if (this.#has.engine?.version !== (JSON.parse(before) as MachineContainers).engine?.version) {
      this.#options.logger.info(
        { engine: this.#has.engine?.name, version: this.#has.engine?.version, reason: this.#has.noEngineReason },
        'container engine',
      );
    }
    this.#options.onChanged();
  }

  async #use(engine: Engine): Promise<void> {
    const { config, clock, random, logger, openBridge, onPull } = this.#options;
    const { id } = this.#machine;
    const isMapped = mapsUsers(engine.facts, config.containerUserBase);
    if (!this.#executor && runsAsRoot() && !isMapped && !engine.facts.rootless && !engine.facts.remapsUsers)
      logger.info('root in containers is root of this host (SLIPWAY_CONTAINER_USERS)');
    if (!this.#executor && !runsAsRoot())
      logger.warn('the agent is not root: workers in containers can reach programs of this host');
    this.#firewall ??= new HostFirewall(interfacePrefix(id), hostPrograms);
    this.#executor ??= new ContainerExecutor({
      engines: this.#engines,
      networks: new WorkloadNetworks({
        machineId: id,
        firewall: this.#firewall,
        programs: hostPrograms,
        asRoot: runsAsRoot(),
        openBridge,
      }),
      machineId: id,
      cdiKind: config.cdiKind,
      ulimits: config.containerUlimits,
      userBase: config.containerUserBase,
      privateRegistries: config.privateRegistries,
      onImage: (image) => this.#imageCache.used(image),
      onPull,
      freeSpace: (bytes) => this.#freeSpace(bytes),
      clock,
      random,
      logger,
    });
    const { instance, left } = this.#machine;
    this.#callOffReaper ??= startReaper({
      dataDir: config.dataDir,
      volumesDir: config.volumesDir,
      socket: engine.facts.socket,
      machineId: id,
      instance,
    });
    try {
      // Orphaned workloads are removed first: one may hold the address.
      if (!this.#isSwept) await this.#executor.sweep(left.workloads);
      this.#isSwept = true;
      this.#bridgeUrl = await this.#executor.bridgeUrl();
    } catch (error) {
      // Without it no worker could ever ask for work.
      throw new Error(`${engine.facts.kind} ${engine.facts.version} cannot be used: ${(error as Error).message}`);
    }
  }

  /** Frees disk space for a pull that found the disk full. Returns how many images were removed. */
  async #freeSpace(bytes: number): Promise<number> {
    if (!this.#wanted) return 0;
    const { docker, facts } = await this.#engines.find();
    const hasSpace = async (): Promise<boolean> => ((await imageSpace(facts))?.freeBytes ?? Infinity) >= bytes;
    const removed = await this.#imageCache.freeSpace(new ImageStore(docker), this.#wanted, hasSpace);
    if (removed > 0) this.#options.logger.info({ removed }, 'the disk was full: unused images were removed');
    return removed;
  }

  /**
   * Pulls missing images one at a time, so that pulls that workloads wait for are not slowed down much. A failed pull
   * is tried again at the next check.
   */
  async #prefetch(store: ImageStore): Promise<void> {
    const images = await store.list();
    for (const { name, digest, registryCredentials } of this.#wanted ?? []) {
      if (this.ending.aborted || images.some((image) => isNamed(image, { name, digest }))) continue;
      await this.#executor!.pull(
        { name, digest, credentials: registryCredentials, resolveDigest: async (found) => found },
        this.ending,
      ).catch((error: unknown) =>
        this.#options.logger.info({ image: name, reason: (error as Error).message }, 'not prefetched'),
      );
    }
  }
}

async function describe({ facts }: Engine, gpus: readonly MachineGpu[], holdsSizes: boolean): Promise<ContainerEngine> {
  const space = await imageSpace(facts);
  const handover = facts.kind === 'podman' ? GpuHandover.CDI : GpuHandover.DEVICE_REQUEST;
  return {
    name: facts.kind,
    version: facts.version,
    limits: holdsSizes ? [...facts.limits, 'volume'] : facts.limits,
    gpuHandover: gpus.length > 0 && gpus.every((gpu) => gpu.virtual) ? GpuHandover.VIRTUAL : handover,
    // In steps of 1 GiB, so that not every written file is reported.
    imageTotalMib: Math.floor((space?.totalBytes ?? 0) / MIB),
    imageFreeMib: Math.floor((space?.freeBytes ?? 0) / MIB / 1_024) * 1_024,
  };
}
