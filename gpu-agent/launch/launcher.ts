/**
 * Turns the description of a worker or pod into what its executor starts: user, folders, volumes, environment, GPUs,
 * limits and image.
 */
import { availableParallelism } from 'node:os';
import { join, posix } from 'node:path';
import type { HostUser } from '@slipway/kit/host/host-user';
import type { SettleImageRequest, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Executor, ImageRequest, Launch, Mount } from '../executors/executor.ts';
import { PrepareError } from '../executors/executor.ts';
import type { MachineGpu } from '../inventory/machine-gpu.ts';
import { dropFolder, giveFolder } from '../users/given-folder.ts';
import type { WorkerUser, WorkerUsers } from '../users/worker-users.ts';
import { hostEnvOf } from '../users/worker-users.ts';
import type { MachineExecutors } from './choose-executor.ts';
import { chooseExecutor, REJECTIONS } from './choose-executor.ts';
import type { HostFacts } from './host-env.ts';
import { limitsOf } from './limits.ts';
import { buildPodEnv } from './pod-env.ts';
import type { VolumeFolders } from './volume-folders.ts';
import { buildWorkerEnv } from './worker-env.ts';
import type { WorkerModels } from './worker-models.ts';
import { NO_MODELS } from './worker-models.ts';

/**
 * Seconds that a worker may take to ask for work if its endpoint sets no limit
 * (docs/reference/worker-protocol.md#environment).
 */
const INIT_TIMEOUT_SECONDS = 420;

/** Dependencies that all workloads of a machine share. */
interface LauncherParts {
  executors: MachineExecutors;
  users: WorkerUsers;
  /** Parent of the workers' scratch folders. */
  scratchFolder: string;
  volumes: VolumeFolders;
  /** Models of this machine. Default: it has none. */
  models?: WorkerModels;
  machineName: string;
  locations: readonly string[];
  hostEnv: Readonly<Record<string, string>>;
  gpus(): readonly MachineGpu[];
  /** Returns the bridge's address as workloads of this kind reach it. */
  bridgeUrl(by: 'process' | 'container'): string;
  /** Resolves the digest of an image's name with core. */
  resolveImage(request: SettleImageRequest): Promise<string>;
}

/** A launch and the executor that starts it. */
export interface Ready {
  launch: Launch;
  executor: Executor;
}

/** A worker to launch. */
interface WorkerLaunch {
  workerId: string;
  endpointId: string;
  /** Token that authenticates the worker to the bridge. */
  token: string;
  spec: WorkerSpec;
  /** Variables that say where it must serve HTTP. `undefined` if it asks for work. */
  httpVariables: Readonly<Record<string, string>> | undefined;
  onOutput(bytes: Buffer): void;
  /** Reports a line for people while its models are downloaded. */
  progress(line: string): void;
  /** Aborts when it is not wanted any more. */
  signal: AbortSignal;
}

/** A pod to launch. */
interface PodLaunch {
  podId: string;
  run: number;
  spec: WorkerSpec;
  /** Prepares its disk. Returns its path, and the function that opens it to an image's user. */
  openDisk(by: 'process' | 'container', user: HostUser | undefined): Promise<Omit<Mount, 'target'>>;
  onOutput(bytes: Buffer): void;
}

/** Returns how long a worker may take to ask for work, in seconds. */
export function initTimeoutSeconds(spec: WorkerSpec): number {
  return spec.initTimeoutSeconds || INIT_TIMEOUT_SECONDS;
}

export class WorkloadLauncher {
  readonly #parts: LauncherParts;

  constructor(parts: LauncherParts) {
    this.#parts = parts;
  }

  /** Returns the executor for this spec. `undefined` if no executor of this machine can run it. */
  executorOf(spec: WorkerSpec): Executor | undefined {
    const choice = chooseExecutor(spec, this.#parts.executors);
    return choice.by === 'nothing' ? undefined : choice.executor;
  }

  /**
   * Prepares a worker for its start. Rejects with the reason; a PrepareError with REFUSED means that this machine can
   * never start it.
   */
  async worker(worker: WorkerLaunch): Promise<Ready> {
    const { workerId, endpointId, token, spec, httpVariables, onOutput } = worker;
    const choice = chooseExecutor(spec, this.#parts.executors);
    if (choice.by === 'nothing') throw new PrepareError('REFUSED', REJECTIONS[choice.why]);
    const { executor, by } = choice;
    const user = await this.#parts.users.of(spec.accountNumber);
    const scratch = this.#scratch(workerId);
    if (by === 'process') await giveFolder(scratch, user);
    const { models } = this.#parts;
    const cached = models && spec.models.length > 0 ? await models.open({ ...worker, by, user }) : NO_MODELS;
    const volumes = await this.#parts.volumes.open(spec.volumes, by, user);
    const env = buildWorkerEnv({
      ...this.#facts(spec, by, user, volumes),
      modelCache: cached.folder,
      workerId,
      endpointId,
      token,
      userEnv: spec.env,
      bridgeUrl: this.#parts.bridgeUrl(by),
      initTimeoutSeconds: initTimeoutSeconds(spec),
      httpVariables,
    });
    const request = { endpointId, version: spec.version, podId: '', run: 0 };
    return {
      executor,
      launch: {
        ...this.#base(spec, by, user, scratch),
        workloadId: workerId,
        endpointId,
        image: this.#image(spec, by, request),
        // Volumes first: a model may lie inside of one.
        mounts: [...volumes, ...cached.mounts],
        env,
        onOutput,
      },
    };
  }

  /** Prepares a pod for its start. Rejects as `worker` does. */
  async pod({ podId, run, spec, openDisk, onOutput }: PodLaunch): Promise<Ready> {
    const choice = chooseExecutor(spec, this.#parts.executors);
    if (choice.by === 'nothing') throw new PrepareError('REFUSED', REJECTIONS[choice.why]);
    const { executor, by } = choice;
    const user = await this.#parts.users.of(spec.accountNumber);
    const disk = await openDisk(by, user);
    const volumes = await this.#parts.volumes.open(spec.volumes, by, user);
    const env = buildPodEnv({ ...this.#facts(spec, by, user, volumes), podId, userEnv: spec.env });
    // A network volume mounted there replaces the pod's own disk. A command finds its disk in its working directory.
    const isTaken = volumes.some(({ target }) => posix.resolve(target) === posix.resolve(spec.volumeMountPath));
    const hasOwn = by === 'container' && spec.volumeMountPath !== '' && !isTaken;
    const mounts = hasOwn ? [...volumes, { ...disk, target: spec.volumeMountPath }] : volumes;
    const image = this.#image(spec, by, { endpointId: '', version: 0, podId, run });
    return {
      executor,
      launch: { ...this.#base(spec, by, user, disk.source), workloadId: podId, image, mounts, env, onOutput },
    };
  }

  /** Removes a worker's scratch folder, and ends its use of models. */
  async dropScratch(workerId: string): Promise<void> {
    await this.#parts.models?.close(workerId);
    await dropFolder(this.#scratch(workerId));
  }

  #scratch(workerId: string): string {
    return join(this.#parts.scratchFolder, workerId);
  }

  /** Returns the parts that workers and pods have in common. Images define their own user and working directory. */
  #base(
    spec: WorkerSpec,
    by: 'process' | 'container',
    user: WorkerUser | undefined,
    folder: string,
  ): Pick<Launch, 'command' | 'entrypoint' | 'user' | 'workingDirectory' | 'gpus' | 'limits'> {
    return {
      command: spec.startCommand,
      entrypoint: by === 'container' ? spec.entrypoint : [],
      user: by === 'container' ? undefined : user,
      workingDirectory: spec.workingDirectory || (by === 'container' ? '' : folder),
      gpus: this.#gpus(spec).map(({ uuid, virtual }) => ({ uuid, virtual })),
      limits: limitsOf(spec),
    };
  }

  #facts(
    spec: WorkerSpec,
    by: 'process' | 'container',
    user: WorkerUser | undefined,
    [volume]: readonly Mount[],
  ): HostFacts {
    const { machineName, locations, hostEnv } = this.#parts;
    return {
      machineName,
      locations,
      // An image has what its programs need; paths of the host mean nothing in it.
      hostEnv: by === 'container' ? undefined : hostEnvOf(hostEnv, user),
      gpus: this.#gpus(spec),
      gpuTypeId: spec.gpuTypeId,
      volumePath: volume?.target,
      cpuCount: spec.vcpuCount || availableParallelism(),
    };
  }

  #gpus(spec: WorkerSpec): MachineGpu[] {
    return this.#parts.gpus().filter((gpu) => spec.gpuUuids.includes(gpu.uuid));
  }

  #image(
    spec: WorkerSpec,
    by: 'process' | 'container',
    whose: Omit<SettleImageRequest, 'imageName' | 'digest'>,
  ): ImageRequest | undefined {
    if (by === 'process') return undefined;
    return {
      name: spec.imageName,
      digest: spec.imageDigest,
      credentials: spec.registryCredentials,
      resolveDigest: (digest) => this.#parts.resolveImage({ ...whose, imageName: spec.imageName, digest }),
    };
  }
}
