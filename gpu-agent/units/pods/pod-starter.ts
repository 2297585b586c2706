/** One start of a pod: its disk, its environment, its process. */
import { availableParallelism } from 'node:os';
import type { DesiredPod, WorkerSpec } from '../../../proto/gen/slipway/v1/agent_service.ts';
import type { MachineGpu } from '../../inventory/machine-gpu.ts';
import { hostEnvOf } from '../../users/worker-users.ts';
import type { WorkerUsers } from '../../users/worker-users.ts';
import { openVolumes } from '../../launch/open-volumes.ts';
import { NO_LIMITS } from '../../executors/executor.ts';
import type { Executor, RunningUnit } from '../../executors/executor.ts';
import { buildPodEnv } from '../../launch/pod-env.ts';
import type { PodFiles } from './pod-files.ts';

/** What all pods of a machine share. */
export interface PodStarterOptions {
  executor: Executor;
  users: WorkerUsers;
  files: PodFiles;
  /** Parent of the network volumes' directories. */
  volumesFolder: string;
  machineName: string;
  locations: readonly string[];
  hostEnv: Readonly<Record<string, string>>;
  gpus(): readonly MachineGpu[];
}

export class PodStarter {
  readonly #options: PodStarterOptions;

  constructor(options: PodStarterOptions) {
    this.#options = options;
  }

  /** Why this agent can never start such a pod; undefined: it can. */
  refusal(spec: WorkerSpec): string | undefined {
    if (spec.startCommand.length > 0) return undefined;
    return spec.imageName === '' ? 'The pod has no start command.' : 'This agent runs commands, not images: give the pod a start command.';
  }

  /** Starts it. Rejects when it could not even be prepared. */
  async start({ podId, disk }: DesiredPod, spec: WorkerSpec, onOutput: (bytes: Buffer) => void): Promise<RunningUnit> {
    const { executor, users, files, volumesFolder, machineName, locations, hostEnv, gpus } = this.#options;
    const user = await users.of(spec.accountNumber);
    const folder = await files.open(podId, disk, user);
    const volumePath = await openVolumes(volumesFolder, spec.volumes, user);
    return executor.start({
      unitId: podId,
      command: spec.startCommand,
      entrypoint: [],
      image: undefined,
      mounts: [],
      gpus: [],
      limits: NO_LIMITS,
      user,
      workingDirectory: spec.workingDirectory || folder,
      env: buildPodEnv({
        podId, machineName, locations, volumePath, hostEnv: hostEnvOf(hostEnv, user), userEnv: spec.env, gpuTypeId: spec.gpuTypeId,
        cpuCount: spec.vcpuCount || availableParallelism(),
        gpus: gpus().filter((gpu) => spec.gpuUuids.includes(gpu.uuid)),
      }),
      onOutput,
    });
  }
}
