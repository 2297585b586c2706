/** One life of a worker: its scratch folder, its environment, its process, its log, and the cleaning up. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { MachineGpu } from '../../inventory/machine-gpu.ts';
import { dropFolder, giveFolder } from '../../users/given-folder.ts';
import { hostEnvOf } from '../../users/worker-users.ts';
import type { WorkerUser, WorkerUsers } from '../../users/worker-users.ts';
import { openVolumes } from '../../launch/open-volumes.ts';
import { NO_LIMITS } from '../../executors/executor.ts';
import type { Executor, UnitExit } from '../../executors/executor.ts';
import type { GpuHandover } from '../../launch/gpu-handover.ts';
import type { LogArchive } from '../../launch/log-archive.ts';
import { buildWorkerEnv } from '../../launch/worker-env.ts';
import type { Worker } from './worker.ts';

/** What all workers of a machine share. */
export interface StarterOptions {
  executor: Executor;
  users: WorkerUsers;
  archive: LogArchive;
  /** GPUs that pods are about to leave. */
  handover: GpuHandover;
  /** Parent of the workers' own folders. */
  scratchFolder: string;
  /** Parent of the network volumes' directories. */
  volumesFolder: string;
  machineName: string;
  locations: readonly string[];
  hostEnv: Readonly<Record<string, string>>;
  gpus(): readonly MachineGpu[];
  bridgeUrl(): string;
  logger: Logger;
}

export class WorkerStarter {
  readonly #options: StarterOptions;

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /** Runs a worker to its end. Rejects when it could not even be prepared. */
  async run(worker: Worker): Promise<UnitExit> {
    const { executor, users, logger } = this.#options;
    const user = await users.of(worker.spec.accountNumber);
    await giveFolder(this.#scratch(worker), user);
    if (worker.spec.imageName !== '' && worker.spec.startCommand.length === 0) throw new Error('this agent runs commands, not images');
    if (worker.spec.startCommand.length === 0) throw new Error('the template has no start command');
    const volumePath = await openVolumes(this.#options.volumesFolder, worker.spec.volumes, user);
    await this.#options.handover.free(worker.spec.gpuUuids);
    if (worker.endStatus) return { code: undefined, signal: undefined, failure: 'it was not wanted any more' };
    worker.running = executor.start({
      unitId: worker.id,
      command: worker.spec.startCommand,
      entrypoint: [],
      image: undefined,
      mounts: [],
      gpus: [],
      limits: NO_LIMITS,
      user,
      workingDirectory: worker.spec.workingDirectory || this.#scratch(worker),
      env: this.#env(worker, user, volumePath),
      onOutput: (bytes) => worker.log.write(bytes),
    });
    logger.info({ workerId: worker.id, endpointId: worker.endpointId, version: worker.spec.version }, 'worker started');
    return worker.running.ended;
  }

  /** Keeps its log and removes its scratch folder. Never rejects. */
  async cleanUp(worker: Worker): Promise<void> {
    const { archive, logger } = this.#options;
    await archive.keep(worker.id, worker.log.tail(worker.log.size))
      .catch((error: unknown) => logger.warn({ err: error }, 'log was not kept'));
    await dropFolder(this.#scratch(worker))
      .catch((error: unknown) => logger.warn({ err: error }, 'scratch folder was not removed'));
  }

  #scratch(worker: Worker): string {
    return join(this.#options.scratchFolder, worker.id);
  }

  #env(worker: Worker, user: WorkerUser | undefined, volumePath: string | undefined): Record<string, string> {
    const { machineName, locations, hostEnv, gpus, bridgeUrl } = this.#options;
    return buildWorkerEnv({
      workerId: worker.id,
      endpointId: worker.endpointId,
      token: worker.token,
      bridgeUrl: bridgeUrl(),
      machineName,
      locations,
      userEnv: worker.spec.env,
      hostEnv: hostEnvOf(hostEnv, user),
      gpus: gpus().filter((gpu) => worker.spec.gpuUuids.includes(gpu.uuid)),
      gpuTypeId: worker.spec.gpuTypeId,
      volumePath,
      initTimeoutSeconds: worker.spec.initTimeoutSeconds || 420,
      cpuCount: worker.spec.vcpuCount || availableParallelism(),
    });
  }
}
