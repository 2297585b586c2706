/**
 * Runs workloads as Pods of the node that this machine is. A Pod has its workload's id as its name, so that nothing can
 * run twice. Pods outlive the agent: a restarted agent adopts them.
 */
import { retry } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { parseImageName } from '../../images/image-name.ts';
import type { Executor, Launch, RunningWorkload } from '../executor.ts';
import { PrepareError } from '../executor.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import type { ApiPod, OwnerReference } from './api-types.ts';
import type { GpuDevice } from './node-gpus.ts';
import { PodEnder } from './pod-ender.ts';
import { GPUS_ANNOTATION, POD_MACHINE_LABEL } from './pod-labels.ts';
import { PodObjects } from './pod-objects.ts';
import type { PodPlan } from './pod-plan.ts';
import { unfitVariable } from './pod-plan.ts';
import { phaseOf, podDigestOf } from './pod-state.ts';
import type { PodTemplate } from './pod-template.ts';
import { PodUses } from './pod-uses.ts';
import { rejectedPod, untilRunning } from './pod-wait.ts';
import { PodWatch } from './pod-watch.ts';
import { PodWorkload } from './pod-workload.ts';
import { TrackedPod } from './tracked-pod.ts';

/** Options of KubernetesExecutor. */
export interface KubernetesExecutorOptions {
  api: ApiClient;
  namespace: string;
  node: string;
  machineId: string;
  template: PodTemplate;
  /** Owner of the Pods: when it is deleted, Kubernetes deletes them. */
  owner: OwnerReference | undefined;
  /** Time that a Pod may take to end after SIGTERM, in seconds. */
  graceSeconds: number;
  volumes: PodPlan['volumes'];
  /** Returns the address of the bridge. */
  bridge(): PodPlan['bridge'];
  /** Returns the devices of the node's GPUs by UUID; `undefined` if they are only counted. */
  devices(): ReadonlyMap<string, GpuDevice> | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Characters that tell one try to create a Pod from another. */
const NONCE_LENGTH = 20;
const PAUSE = { firstMs: 500, maxMs: 10_000 };
/** Longest wait for removals in progress when the agent stops, in milliseconds: the API may be away. */
const LAST_REMOVALS_MS_MAX = 5_000;

export class KubernetesExecutor implements Executor {
  readonly startsPrepared = true;
  readonly #options: KubernetesExecutorOptions;
  readonly #watch: PodWatch;
  readonly #ender: PodEnder;
  readonly #objects: PodObjects;
  readonly #uses: PodUses;
  /** Pods that exist, as far as a workload of this run has them. By workload. */
  readonly #tracked = new Map<string, TrackedPod>();
  readonly #workloads = new Map<string, PodWorkload>();
  /** UIDs of Pods that the watch reported as gone: a response that says that they were made may come later. */
  readonly #gone = new Set<string>();
  /** Removals in progress, by workload: its next start waits until its previous Pod is gone. */
  readonly #removals = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: KubernetesExecutorOptions) {
    this.#options = options;
    this.#ender = new PodEnder(options);
    this.#objects = new PodObjects({ ...options, ender: this.#ender });
    const labelSelector = `${POD_MACHINE_LABEL}=${options.machineId}`;
    this.#uses = new PodUses({ ...options, labelSelector });
    this.#watch = new PodWatch({
      ...options,
      labelSelector,
      onPod: (pod) => this.#trackedOf(pod)?.update(pod),
      onGone: (pod) => this.#isGone(pod),
    });
  }

  /** Begins to follow the Pods of this machine. */
  open(): void {
    this.#watch.start();
  }

  /** Resolves when the Pods of this machine are known. */
  get synced(): Promise<void> {
    return this.#watch.synced;
  }

  async prepare(launch: Launch, progress: (text: string) => void, signal: AbortSignal): Promise<void> {
    const { image } = launch;
    const name = image && parseImageName(image.name);
    if (!image) throw new PrepareError('REFUSED', 'a Pod needs an image');
    if (!name)
      throw new PrepareError('REFUSED', `${image.name} is no name of an image: write it like registry/path:tag`);
    const unfit = unfitVariable(launch);
    if (unfit !== undefined)
      throw new PrepareError('REFUSED', `Kubernetes takes no variable named ${JSON.stringify(unfit.slice(0, 64))}`);
    for (const mount of launch.mounts) await mount.admit?.(image.name);
    let digest = image.digest || name.digest;
    for (;;) {
      await this.#removals.get(launch.workloadId);
      signal.throwIfAborted();
      const plan = this.#plan(launch, { ...name, ...(digest !== '' && { digest }) });
      const tracked = await this.#create(plan, progress, signal);
      try {
        await untilRunning(tracked, image, { progress, signal, clock: this.#options.clock });
        const found = podDigestOf(tracked.latest);
        const wanted = digest === '' && found !== '' ? await image.resolveDigest(found) : digest;
        signal.throwIfAborted();
        if (wanted === digest || wanted === found) return;
        digest = wanted;
        progress(`another machine was first with a newer ${image.name}: starting that one`);
        await this.#discard(tracked);
      } catch (error) {
        // Its GPUs are free, and its name, only when it is gone.
        await this.#discard(tracked);
        throw error;
      }
    }
  }

  start(launch: Launch): RunningWorkload {
    const tracked = this.#tracked.get(launch.workloadId);
    if (tracked) return this.#follow(tracked, (bytes) => launch.onOutput(bytes));
    throw new Error('it was not prepared');
  }

  async adopt(workloadId: string, onOutput: (bytes: Buffer) => void): Promise<RunningWorkload | undefined> {
    await this.#watch.synced;
    const pod = this.#watch.get(workloadId);
    if (!pod) return undefined;
    const tracked = this.#tracked.get(workloadId) ?? this.#track(pod);
    const phase = phaseOf(pod);
    if (phase.is !== 'waiting') return this.#follow(tracked, onOutput);
    // Its start was not finished: what it waits for is not reported.
    await this.#discard(tracked);
    return undefined;
  }

  async sweep(keep: ReadonlySet<string>): Promise<void> {
    await this.#watch.synced;
    const known = new Set([...keep, ...this.#tracked.keys()]);
    const left = this.#watch.pods.filter(({ metadata }) => !known.has(metadata.name));
    // The scheduler counts them until they are gone, so there is no need to wait here.
    for (const pod of left) void this.#discard(this.#track(pod));
    const { machineId, devices } = this.#options;
    const all = new Set([...known, ...left.map(({ metadata }) => metadata.name)]);
    await this.#objects.sweep(machineId, all, devices() !== undefined);
  }

  /** Returns the workloads of this machine whose Pods run, also those of previous runs of the agent. */
  async running(): Promise<ReadonlySet<string>> {
    await this.#watch.synced;
    const running = this.#watch.pods.filter((pod) => !pod.metadata.deletionTimestamp && phaseOf(pod).is === 'running');
    return new Set(running.map(({ metadata }) => metadata.name));
  }

  /** Returns the UUIDs of the GPUs that Pods of this machine have. */
  gpusInUse(): ReadonlySet<string> {
    return new Set(
      this.#watch.pods.flatMap(({ metadata }) => metadata.annotations?.[GPUS_ANNOTATION]?.split(',') ?? []),
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const workload of this.#workloads.values()) workload.release();
    await Promise.race([Promise.all(this.#removals.values()), delay(this.#options.clock, LAST_REMOVALS_MS_MAX)]);
    this.#ender.close();
    await this.#watch.close();
    this.#options.api.close();
  }

  #plan(launch: Launch, image: PodPlan['image']): PodPlan {
    const { machineId, node, owner, template, graceSeconds, volumes, bridge, devices } = this.#options;
    const known = devices();
    const real = launch.gpus.filter((gpu) => !gpu.virtual);
    const own = known && real.flatMap(({ uuid }) => known.get(uuid) ?? []);
    if (own && own.length < real.length)
      throw new PrepareError('UNREACHABLE', 'its node does not offer its GPU any more (ResourceSlice)');
    return {
      launch,
      machineId,
      node,
      image,
      nonce: this.#options.random.id(NONCE_LENGTH),
      owner,
      template,
      graceSeconds,
      devices: own,
      volumes,
      bridge: bridge(),
    };
  }

  /** Creates the Pod, with retries until the API accepts or rejects it. */
  async #create(plan: PodPlan, progress: (text: string) => void, signal: AbortSignal): Promise<TrackedPod> {
    const { clock, random, logger } = this.#options;
    const { workloadId } = plan.launch;
    const either = AbortSignal.any([signal, this.#closing.signal]);
    try {
      return await retry(async () => this.#createOnce(plan), {
        clock,
        random,
        pause: PAUSE,
        signal: either,
        mayHelp: (error) => error instanceof ApiError && error.mayPass,
        onFailure: (err, failures) => {
          if (failures === 1) logger.info({ err, workloadId }, 'a Pod could not be created');
          progress(`Kubernetes does not accept its Pod yet: ${(err as Error).message}`);
        },
      });
    } catch (error) {
      // A request without a response may have made it.
      await this.#dropLost(plan);
      signal.throwIfAborted();
      throw error instanceof ApiError ? rejectedPod(error.status, error.reason, error.message) : error;
    }
  }

  async #createOnce(plan: PodPlan): Promise<TrackedPod> {
    const { pod, isOurs } = await this.#objects.create(plan);
    if (isOurs) return this.#track(pod);
    // It is of an earlier run, unknown here, and would never be reported. One of another machine is not ours to end.
    if (pod.metadata.labels?.[POD_MACHINE_LABEL] === plan.machineId) await this.#discard(this.#track(pod));
    throw new ApiError(503, '', `an earlier Pod of this name is not gone yet, of node ${pod.spec?.nodeName ?? 'none'}`);
  }

  /** Removes what requests whose responses were lost may have made. */
  async #dropLost(plan: PodPlan): Promise<void> {
    const pod = await this.#objects.find(plan);
    if (pod) return this.#discard(this.#track(pod));
    const { launch, devices = [] } = plan;
    const has = { env: false, pull: launch.image?.credentials !== undefined, claim: devices.length > 0 };
    await this.#objects.drop(launch.workloadId, has);
  }

  #track(pod: ApiPod): TrackedPod {
    const known = this.#tracked.get(pod.metadata.name);
    if (known?.uid === pod.metadata.uid) return known!;
    const tracked = new TrackedPod(pod, this.#options.clock);
    this.#tracked.set(pod.metadata.name, tracked);
    const seen = this.#watch.get(pod.metadata.name);
    if (seen?.metadata.uid === tracked.uid) tracked.update(seen);
    if (this.#gone.has(tracked.uid)) tracked.end();
    return tracked;
  }

  #trackedOf({ metadata: { name, uid } }: ApiPod): TrackedPod | undefined {
    const tracked = this.#tracked.get(name);
    return tracked?.uid === uid ? tracked : undefined;
  }

  #isGone(pod: ApiPod): void {
    const tracked = this.#trackedOf(pod);
    if (tracked) return tracked.end(pod);
    this.#gone.add(pod.metadata.uid!);
    for (const uid of [...this.#gone].slice(0, -GONE_MAX)) this.#gone.delete(uid);
  }

  /** Follows a Pod as a workload. Its objects are removed in the background once it has ended. */
  #follow(tracked: TrackedPod, onOutput: (bytes: Buffer) => void): PodWorkload {
    const workload = new PodWorkload({ ...this.#options, tracked, ender: this.#ender, uses: this.#uses, onOutput });
    this.#workloads.set(tracked.workloadId, workload);
    void workload.ended.then(() => this.#discard(tracked));
    return workload;
  }

  /** Deletes a Pod and its objects. Resolves when it is gone. */
  #discard(tracked: TrackedPod): Promise<void> {
    const { workloadId } = tracked;
    const removal = this.#remove(tracked).finally(() => {
      if (this.#removals.get(workloadId) === removal) this.#removals.delete(workloadId);
    });
    this.#removals.set(workloadId, removal);
    return removal;
  }

  async #remove(tracked: TrackedPod): Promise<void> {
    const { workloadId } = tracked;
    await this.#ender.end(tracked, 'SIGKILL');
    const { resourceClaims = [], imagePullSecrets = [] } = tracked.latest.spec ?? {};
    const has = { env: true, pull: imagePullSecrets.length > 0, claim: resourceClaims.length > 0 };
    await this.#objects.drop(workloadId, has);
    if (this.#tracked.get(workloadId) !== tracked) return;
    this.#tracked.delete(workloadId);
    this.#workloads.delete(workloadId);
  }
}

/** Most UIDs of Pods that are remembered as gone. */
const GONE_MAX = 200;
