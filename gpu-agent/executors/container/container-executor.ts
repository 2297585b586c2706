/** Runs workloads as containers of the machine's engine. They outlive the agent: a restarted agent adopts them. */

import { runsAsRoot } from '@slipway/kit/host/host-user';
import { retry } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';
import type { OnPull } from '../../images/image-puller.ts';
import { ImagePuller } from '../../images/image-puller.ts';
import type { StoredImage } from '../../images/image-store.ts';
import { ImageStore } from '../../images/image-store.ts';
import { RegistryGuard } from '../../images/registry-guard.ts';
import type { Executor, ImageRequest, Launch, RunningWorkload } from '../executor.ts';
import { PrepareError } from '../executor.ts';
import type { Ulimit } from './container-plan.ts';
import { LOG_LABEL, MACHINE_LABEL, WORKLOAD_LABEL } from './container-plan.ts';
import { giveToContainers, mapsUsers, userName } from './container-users.ts';
import { ContainerWorkload } from './container-workload.ts';
import type { Engine } from './engine.ts';
import { createContainer, removeContainer } from './engine-calls.ts';
import type { EngineFinder } from './engine-finder.ts';
import { boundLog } from './log-bound.ts';
import type { WorkloadNetworks } from './workload-networks.ts';

/** Options of ContainerExecutor. */
export interface ContainerExecutorOptions {
  engines: EngineFinder;
  networks: WorkloadNetworks;
  machineId: string;
  /** Vendor and class of the machine's CDI devices. Default: `nvidia.com/gpu`. */
  cdiKind?: string;
  /** Registries at private addresses that may be used. Default: none. */
  privateRegistries?: PrivateRegistries;
  /** Called with the image that a workload is about to run. */
  onImage?(image: StoredImage): Promise<void>;
  /** Default: pulls are not counted. */
  onPull?: OnPull | undefined;
  /**
   * Called when the disk is full. Removes unneeded images until about this many bytes are free, and returns how many it
   * freed. Default: none.
   */
  freeSpace?: ((bytes: number) => Promise<number>) | undefined;
  /** Default: the engine's own. */
  ulimits?: readonly Ulimit[];
  /** Host user that root of containers is. Default: 0, root. */
  userBase?: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Pauses between tries to remove a container while the engine is unavailable, in milliseconds. */
const REMOVE_PAUSE = { firstMs: 500, maxMs: 10_000 };
/**
 * Tries to find and adopt containers, in milliseconds. A busy engine, for instance one that builds images, answers late
 * or with an error, and a container that was given up is removed with all that it does.
 */
const ADOPTION = { pause: { firstMs: 500, maxMs: 5_000 }, forMs: 30_000 };
/** Longest wait for removals in progress when the agent stops, in milliseconds: an engine may hang. */
const LAST_REMOVALS_MS_MAX = 5_000;

export class ContainerExecutor implements Executor {
  readonly #options: ContainerExecutorOptions;
  readonly #workloads = new Map<string, ContainerWorkload>();
  /** Workloads of the previous run that are being adopted; `undefined` before their container is found. */
  readonly #adopting = new Map<string, ContainerWorkload | undefined>();
  /** Images of prepared workloads, by workload. */
  readonly #images = new Map<string, StoredImage>();
  /** Removals in progress, by workload: its next start waits until its previous container is removed. */
  readonly #removals = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #puller: { socket: string; puller: ImagePuller } | undefined;

  constructor(options: ContainerExecutorOptions) {
    this.#options = options;
  }

  /** Returns the URL at which containers reach the agent's bridge. Rejects with NoEngineError. */
  async bridgeUrl(): Promise<string> {
    return this.#options.networks.bridgeUrl(await this.#options.engines.find());
  }

  async prepare(launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void> {
    if (!launch.image) throw new PrepareError('REFUSED', 'a container needs an image');
    await this.#removals.get(launch.workloadId);
    const engine = await this.#engine();
    const image = await this.#pullerOf(engine).prepare(launch.image, progress, signal);
    await this.#options.onImage?.(image);
    this.#images.set(launch.workloadId, image);
  }

  /** Pulls an image that no workload needs yet. Rejects as `prepare` does. */
  async pull(image: ImageRequest, signal: AbortSignal): Promise<void> {
    const engine = await this.#engine();
    await this.#options.onImage?.(await this.#pullerOf(engine).prepare(image, () => undefined, signal));
  }

  start(launch: Launch): RunningWorkload {
    const { workloadId } = launch;
    const workload = this.#keep(
      workloadId,
      this.#make(workloadId, (bytes) => launch.onOutput(bytes)),
    );
    void workload.run(() => this.#create(launch));
    return workload;
  }

  async adopt(workloadId: string, onOutput: (bytes: Buffer) => void): Promise<RunningWorkload | undefined> {
    this.#adopting.set(workloadId, undefined);
    try {
      return await this.#persist(() => this.#adopt(workloadId, onOutput));
    } catch (error) {
      // It may run on, and the next agent asks again: this one must not report an end.
      if (this.#closing.signal.aborted) return this.#keep(workloadId, this.#make(workloadId, onOutput));
      // A rejection leaves no workload behind, so nothing else would remove the container.
      this.#discard(workloadId);
      throw error;
    } finally {
      this.#adopting.delete(workloadId);
    }
  }

  async #adopt(workloadId: string, onOutput: (bytes: Buffer) => void): Promise<RunningWorkload | undefined> {
    const { engines, clock, logger, networks } = this.#options;
    const engine = await engines.find();
    // The container needs its bridge again, too.
    await networks.bridgeUrl(engine);
    const found = (await this.#containers(engine)).find((container) => container.Labels[WORKLOAD_LABEL] === workloadId);
    if (!found) return undefined;
    this.#closing.signal.throwIfAborted();
    const workload = this.#make(workloadId, onOutput);
    this.#adopting.set(workloadId, workload);
    const container = engine.docker.getContainer(found.Id);
    if (['running', 'paused'].includes(found.State)) {
      await workload.adopt(container).catch((error: unknown) => {
        workload.release();
        throw error;
      });
      this.#keep(workloadId, workload);
      const bounded = engine.facts.kind === 'docker' || found.Labels[LOG_LABEL] !== undefined;
      if (!bounded) boundLog(container, workload.ended, { clock, logger, closing: this.#closing.signal });
      return workload;
    }
    const hasEnded = await workload.readExit(container);
    this.#discard(workloadId);
    return hasEnded ? workload : undefined;
  }

  async sweep(keep: ReadonlySet<string>): Promise<void> {
    const engine = await this.#options.engines.find();
    const found = await this.#containers(engine);
    const known = new Set([...keep, ...this.#workloads.keys(), ...this.#adopting.keys()]);
    const left = found.filter(({ Labels }) => !known.has(Labels[WORKLOAD_LABEL] ?? ''));
    await Promise.all(left.map(({ Id }) => removeContainer(engine.docker.getContainer(Id))));
    await this.#options.networks.sweep(engine, known);
  }

  /** Returns the workloads of this machine that run or are paused, also those of previous runs of the agent. */
  async running(): Promise<ReadonlySet<string>> {
    const found = await this.#persist(async () => this.#containers(await this.#options.engines.find()));
    return new Set(
      found
        .filter(({ State }) => State === 'running' || State === 'paused')
        .map(({ Labels }) => Labels[WORKLOAD_LABEL] ?? ''),
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const workload of [...this.#workloads.values(), ...this.#adopting.values()]) workload?.release();
    await Promise.race([Promise.all(this.#removals.values()), delay(this.#options.clock, LAST_REMOVALS_MS_MAX)]);
    if (this.#workloads.size + this.#adopting.size === 0) await this.#options.networks.close();
  }

  /** Tries again while a busy engine answers late or with an error, unless the agent stops. */
  #persist<Result>(work: () => Promise<Result>): Promise<Result> {
    const { clock, random } = this.#options;
    return retry(work, { clock, random, ...ADOPTION, signal: this.#closing.signal });
  }

  #make(workloadId: string, onOutput: (bytes: Buffer) => void): ContainerWorkload {
    const { clock, logger } = this.#options;
    return new ContainerWorkload({ workloadId, onOutput, clock, logger });
  }

  /**
   * Registers a workload and returns it. Its container is removed once it has ended; waiters for its end do not wait
   * for the removal. When the agent stops, it is only released.
   */
  #keep(workloadId: string, workload: ContainerWorkload): ContainerWorkload {
    this.#workloads.set(workloadId, workload);
    if (this.#closing.signal.aborted) workload.release();
    void workload.ended.then(() => this.#discard(workloadId));
    return workload;
  }

  #discard(workloadId: string): void {
    const removal = this.#remove(workloadId).finally(() => this.#removals.delete(workloadId));
    this.#removals.set(workloadId, removal);
  }

  /**
   * Removes a container, with retries until the engine is available. A container whose start was interrupted may run
   * on, with the GPUs that are assigned to the next workload.
   */
  async #remove(workloadId: string): Promise<void> {
    const { logger, clock, random } = this.#options;
    try {
      await retry(() => this.#removeOnce(workloadId), {
        clock,
        random,
        pause: REMOVE_PAUSE,
        signal: this.#closing.signal,
        onFailure: (err, failures) => {
          if (failures === 1) logger.warn({ workloadId, err }, 'a container could not be removed, trying again');
        },
      });
    } catch (error) {
      logger.warn({ workloadId, err: error }, 'a container was not removed: the next start of the agent does it');
    } finally {
      this.#workloads.delete(workloadId);
      this.#images.delete(workloadId);
    }
  }

  async #removeOnce(workloadId: string): Promise<void> {
    const { engines, networks } = this.#options;
    const engine = await engines.find();
    const own = await this.#containers(engine, workloadId);
    await Promise.all(own.map(({ Id }) => removeContainer(engine.docker.getContainer(Id))));
    await networks.drop(engine, workloadId);
  }

  async #create(launch: Launch): Promise<Docker.Container> {
    const { engines, networks, machineId, cdiKind = 'nvidia.com/gpu', ulimits = [] } = this.#options;
    const image = this.#images.get(launch.workloadId);
    if (image === undefined) throw new Error('it was not prepared');
    const engine = await engines.find();
    const userBase = mapsUsers(engine.facts, this.#options.userBase ?? 0) ? this.#options.userBase! : 0;
    for (const { source, readOnly, admit } of launch.mounts) {
      if (!readOnly && userBase !== 0 && runsAsRoot()) await giveToContainers(source, userBase);
      await admit?.(userName(image.user, userBase !== 0 || engine.facts.remapsUsers));
    }
    const network = await networks.open(engine, launch.workloadId);
    const { limits, diskCountsImage } = engine.facts;
    const imageDiskBytes = diskCountsImage ? image.sizeBytes : 0;
    return createContainer(engine, {
      launch,
      imageId: image.id,
      imageDiskBytes,
      machineId,
      network,
      limits,
      cdiKind,
      ulimits,
      userBase,
    });
  }

  async #engine(): Promise<Engine> {
    try {
      return await this.#options.engines.find();
    } catch (error) {
      throw new PrepareError('UNREACHABLE', (error as Error).message);
    }
  }

  #pullerOf({ docker, facts }: Engine): ImagePuller {
    const { clock, random, onPull, freeSpace, privateRegistries = false } = this.#options;
    if (this.#puller?.socket !== facts.socket) {
      const guard = new RegistryGuard(privateRegistries);
      const puller = new ImagePuller({
        store: new ImageStore(docker),
        guard,
        architecture: facts.architecture,
        clock,
        random,
        onPull,
        freeSpace,
      });
      this.#puller = { socket: facts.socket, puller };
    }
    return this.#puller.puller;
  }

  /** Returns the containers of this machine's workloads, running or not. */
  #containers({ docker }: Engine, workloadId?: string): Promise<Docker.ContainerInfo[]> {
    const label = [
      `${MACHINE_LABEL}=${this.#options.machineId}`,
      ...(workloadId === undefined ? [] : [`${WORKLOAD_LABEL}=${workloadId}`]),
    ];
    return docker.listContainers({ all: true, filters: { label } });
  }
}
