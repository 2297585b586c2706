/** Builds the dependencies with which workloads are launched: users, folders, logs, GPUs, executors. */
import { join } from 'node:path';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { SettleImageRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AgentConfig } from './config.ts';
import { hostPrograms } from './executors/container/host-programs.ts';
import type { Executor } from './executors/executor.ts';
import { HostViews } from './executors/process/host-views.ts';
import { findSetpriv } from './executors/process/no-new-privs.ts';
import { ProcessExecutor } from './executors/process/process-executor.ts';
import { ViewingExecutor } from './executors/process/viewing-executor.ts';
import type { GpuMemory } from './gpu-memory/gpu-memory.ts';
import type { MachineGpu } from './inventory/machine-gpu.ts';
import type { MachineExecutors } from './launch/choose-executor.ts';
import { GpuHandover } from './launch/gpu-handover.ts';
import { WorkloadLauncher } from './launch/launcher.ts';
import { LogArchive } from './launch/log-archive.ts';
import { VolumeFolders } from './launch/volume-folders.ts';
import { WorkerModels } from './launch/worker-models.ts';
import type { ModelHost } from './model-host.ts';
import { WorkerUsers } from './users/worker-users.ts';
import { StartGate, startPermits } from './workloads/start-gate.ts';
import type { OnStart } from './workloads/workload-kind.ts';

const MIB = 1024 * 1024;

/** Runs images if the machine has an engine. */
interface ContainerSide {
  /** `undefined` if no engine has been found yet. */
  readonly executor: Executor | undefined;
  /** URL at which containers reach the bridge. */
  readonly bridgeUrl: string;
}

/** Dependencies that workers and pods share. */
export interface WorkloadBase {
  executors: MachineExecutors;
  launcher: WorkloadLauncher;
  volumes: VolumeFolders;
  users: WorkerUsers;
  archive: LogArchive;
  handover: GpuHandover;
  starts: StartGate;
  gpuMemory: GpuMemory;
  /** Ends commands that an earlier run of the agent left. */
  sweepProcesses(): Promise<void>;
  /** Counts starts. */
  onStart: OnStart;
  /** Parent of the workers' own folders. */
  scratchFolder: string;
  /** Parent of the pods' disks. */
  podsFolder: string;
}

/** Facts that are only known once the agent has started. */
interface StartedFacts {
  gpus(): readonly MachineGpu[];
  /** Returns the id under which core knows this machine. */
  machineId(): string;
  /** Returns the URL of the bridge on this host. */
  bridgeUrl(): string;
}

/** Builds the shared dependencies. */
export function buildWorkloadBase(options: {
  config: AgentConfig;
  logger: Logger;
  clock: Clock;
  container: ContainerSide;
  started: StartedFacts;
  resolveImage(request: SettleImageRequest): Promise<string>;
  models: Pick<ModelHost, 'store' | 'puller'>;
  gpuMemory: GpuMemory;
  onStart: OnStart;
}): WorkloadBase {
  const { config, logger, clock, container, started, resolveImage, models, gpuMemory, onStart } = options;
  const { dataDir, volumesDir, name, locations, hostEnv } = config;
  if (config.allowCommands && process.platform === 'linux' && findSetpriv() === '') {
    logger.warn(
      "commands run without no_new_privs: they can gain privileges by set-uid programs. Install util-linux' " +
        'setpriv in /usr/bin',
    );
  }
  const users = new WorkerUsers(config.workerUser, dataDir, logger);
  const views = config.allowCommands ? new HostViews(volumesDir, hostPrograms) : undefined;
  const executors: MachineExecutors = {
    process: views && new ViewingExecutor(new ProcessExecutor(clock, () => started.machineId()), views),
    get container() {
      return container.executor;
    },
  };
  const volumes = new VolumeFolders(volumesDir, views, logger);
  const scratchFolder = join(dataDir, 'scratch');
  const launcher = new WorkloadLauncher({
    executors,
    users,
    scratchFolder,
    volumes,
    models: new WorkerModels({ ...models, views, scratchFolder }),
    machineName: name,
    locations,
    hostEnv,
    resolveImage,
    gpus: () => started.gpus(),
    bridgeUrl: (by) => (by === 'container' ? container.bridgeUrl : started.bridgeUrl()),
  });
  const sweepProcesses = async (): Promise<void> => {
    const strays = await executors.process?.sweep(new Set());
    if (strays) logger.warn({ strays }, 'ended processes that a previous run of the agent had left');
  };
  return {
    executors,
    sweepProcesses,
    launcher,
    volumes,
    users,
    scratchFolder,
    handover: new GpuHandover(),
    archive: new LogArchive({ folder: join(dataDir, 'logs'), bytesMax: config.endedLogsMib * MIB, clock }),
    starts: new StartGate(startPermits(), clock),
    gpuMemory,
    onStart,
    podsFolder: join(dataDir, 'pods'),
  };
}
