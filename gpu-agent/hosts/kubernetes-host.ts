/**
 * Kubernetes side of an agent whose machine is a node: opens the API and the bridge, creates the executor of Pods, and
 * reports what the node has and which of its GPUs others hold.
 */
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';
import { readApiAccess } from '../executors/kubernetes/api-access.ts';
import { ApiClient } from '../executors/kubernetes/api-client.ts';
import type { OwnerReference } from '../executors/kubernetes/api-types.ts';
import { KubernetesExecutor } from '../executors/kubernetes/kubernetes-executor.ts';
import type { KubernetesSettings } from '../executors/kubernetes/kubernetes-settings.ts';
import type { NodeGpus } from '../executors/kubernetes/node-gpus.ts';
import { imagesOf, NodeSurvey, nodeSizeOf } from '../executors/kubernetes/node-survey.ts';
import type { GpuReading } from '../inventory/machine-gpus.ts';
import type { HostMachine, ImageHost } from './image-host.ts';

/** Dependencies of the host. */
interface KubernetesHostOptions {
  config: { workerGraceMs: number; volumesDir: string };
  settings: KubernetesSettings;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Listens for workers, too, at an address of the node. Returns the port. */
  openBridge(address: string): Promise<number>;
  /** Called when what the machine has changed. */
  onChanged(): void;
  /** Called when the GPUs changed, or who holds them. */
  onGpus(reading: GpuReading): void;
}

/** Interval between checks of the node, in milliseconds. */
const CHECK_PERIOD_MS = 20_000;
/** The same while the API was not reached yet. */
const START_POLL_MS = 500;
/** Longest wait for the GPUs at the start, in milliseconds: a session without them is better than none. */
const GPUS_MS_MAX = 15_000;
/** Longest wait for a check in progress when the agent stops, in milliseconds: the API may hang. */
const LAST_CHECK_MS_MAX = 5_000;
const IMAGES_MAX = 1_000;

/** The open API of a node's agent. */
interface OpenApi {
  api: ApiClient;
  survey: NodeSurvey;
  namespace: string;
  owner: OwnerReference | undefined;
}

export class KubernetesHost extends BaseService implements ImageHost {
  readonly name = 'kubernetes';
  readonly isPatient = false;
  readonly #options: KubernetesHostOptions;
  readonly #checks: Loop;
  #machine: HostMachine = { id: '', instance: '', gpus: [], left: { workloads: new Set(), waitMs: 0 } };
  #open: OpenApi | undefined;
  #executor: KubernetesExecutor | undefined;
  #bridge: { host: string; port: number } | undefined;
  #isSwept = false;
  #gpus: NodeGpus = { gpus: [], cudaVersion: '', devices: undefined, uuids: new Map() };
  #occupants: ReadonlyMap<string, string> = new Map();
  #size: ImageHost['size'] = {};
  #has: MachineContainers = { engine: undefined, noEngineReason: 'not checked yet', images: [] };

  constructor(options: KubernetesHostOptions) {
    super();
    this.#options = options;
    this.#checks = new Loop({ ...options, name: this.name, periodMs: CHECK_PERIOD_MS, pass: () => this.#check() });
  }

  get executor(): KubernetesExecutor | undefined {
    return this.#isSwept ? this.#executor : undefined;
  }

  get bridgeUrl(): string {
    if (!this.#bridge) return '';
    const { host, port } = this.#bridge;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  get has(): MachineContainers {
    return this.#has;
  }

  get size(): ImageHost['size'] {
    return this.#size;
  }

  /** Reads the GPUs of the node for the first time. Never rejects. */
  async readGpus(): Promise<GpuReading> {
    const { clock, logger } = this.#options;
    const untilMs = clock.monotonicMs() + GPUS_MS_MAX;
    for (;;) {
      try {
        return await this.#readNode();
      } catch (error) {
        if (this.ending.aborted || clock.monotonicMs() >= untilMs) {
          logger.warn({ err: error }, 'the GPUs of the node are not known yet');
          return this.#gpus;
        }
        await delay(clock, START_POLL_MS, this.ending);
      }
    }
  }

  occupantOf(uuid: string): string {
    return this.#occupants.get(uuid) ?? '';
  }

  mayLose(): void {}

  async pause(): Promise<void> {}

  assume(has: MachineContainers): void {
    this.#has = has;
  }

  setMachine(machine: HostMachine): void {
    this.#machine = machine;
  }

  keepNothing(): void {
    this.#machine = { ...this.#machine, left: { workloads: new Set(), waitMs: 0 } };
  }

  want(): void {}

  protected override async onStart(): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + this.#machine.left.waitMs;
    await this.#check();
    while (!this.executor && clock.monotonicMs() < untilMs && !this.ending.aborted) {
      await delay(clock, START_POLL_MS, this.ending);
      await this.#check();
    }
    await this.#checks.start();
  }

  protected override async onStop(): Promise<void> {
    await Promise.race([this.#checks.stop(), delay(this.#options.clock, LAST_CHECK_MS_MAX)]);
    if (!this.#executor) this.#open?.api.close();
  }

  async #check(): Promise<void> {
    const before = JSON.stringify(this.#has);
    try {
      const { survey } = await this.#opened();
      const version = await survey.version();
      const gpusBefore = JSON.stringify([this.#gpus.gpus, [...this.#occupants]]);
      await this.#readNode();
      await this.#use(await this.#opened());
      this.#occupants = await survey.occupants(this.#gpus, this.#machine.id, this.#executor!.gpusInUse());
      if (JSON.stringify([this.#gpus.gpus, [...this.#occupants]]) !== gpusBefore) this.#options.onGpus(this.#gpus);
      this.#has = { ...this.#has, noEngineReason: '', engine: this.#engine(version) };
    } catch (error) {
      // Pods run on while the API is away, and new ones wait for it: the machine can still run images.
      if (!this.executor) this.#fail((error as Error).message);
      else this.#options.logger.warn({ err: error }, 'the Kubernetes API could not be read');
    }
    if (JSON.stringify(this.#has) !== before) this.#options.onChanged();
  }

  #fail(reason: string): void {
    this.#has = { engine: undefined, noEngineReason: reason.slice(0, 1_024), images: [] };
    this.#options.logger.warn({ reason }, 'the node cannot run images yet');
  }

  #engine(version: string): MachineContainers['engine'] {
    const { gpus, devices } = this.#gpus;
    const handover = devices ? GpuHandover.CDI : GpuHandover.DEVICE_REQUEST;
    return {
      name: 'kubernetes',
      version,
      gpuHandover: gpus.length > 0 ? handover : GpuHandover.VIRTUAL,
      limits: ['memory', 'cpus', 'shm', 'disk'],
      imageTotalMib: 0,
      imageFreeMib: 0,
    };
  }

  async #opened(): Promise<OpenApi> {
    if (this.#open) return this.#open;
    const { settings, logger } = this.#options;
    const access = await readApiAccess(settings.kubeconfig, settings.service);
    const api = new ApiClient(access, this.#options.clock);
    const namespace = settings.namespace || access.namespace || 'default';
    const survey = new NodeSurvey(api, settings.node, logger);
    // An object cannot be owned by one of another namespace.
    const hasOwner = settings.pod !== '' && (access.namespace || namespace) === namespace;
    try {
      const owner = hasOwner ? await survey.daemonSet(namespace, settings.pod) : undefined;
      this.#open = { api, survey, namespace, owner };
      return this.#open;
    } catch (error) {
      api.close();
      throw error;
    }
  }

  async #readNode(): Promise<NodeGpus> {
    const { survey } = await this.#opened();
    const node = await survey.node();
    this.#gpus = await survey.gpus(node);
    this.#size = nodeSizeOf(node);
    this.#has = { ...this.#has, images: imagesOf(node).slice(0, IMAGES_MAX) };
    return this.#gpus;
  }

  /** Creates the executor, opens the bridge, and removes orphans. Repeated until it succeeded. */
  async #use({ api, namespace, owner }: OpenApi): Promise<void> {
    const { config, settings, openBridge } = this.#options;
    const { hostIp: host, node, template, volumeClaim: claim } = settings;
    this.#bridge ??= { host, port: await openBridge(host) };
    this.#executor ??= new KubernetesExecutor({
      ...this.#options,
      api,
      namespace,
      node,
      machineId: this.#machine.id,
      template,
      owner,
      graceSeconds: Math.ceil(config.workerGraceMs / 1_000) + 1,
      volumes: { folder: config.volumesDir, claim },
      bridge: () => this.#bridge!,
      devices: () => this.#gpus.devices,
    });
    // Without the right to list them the agent would wait for its Pods for ever, without a reason shown.
    if (!this.#isSwept) await api.call('GET', `/api/v1/namespaces/${namespace}/pods`, { query: { limit: '1' } });
    this.#executor.open();
    if (!this.#isSwept) await this.#executor.sweep(this.#machine.left.workloads);
    this.#isSwept = true;
  }
}
