/** What an engine is asked to make for a unit: the same plan in Docker's words and in Podman's own. Pure. */
import type { Launch, LaunchGpu } from '../executor.ts';
import type { LimitName } from './engine.ts';

/** Whose container it is. */
export const UNIT_LABEL = 'slipway.unit';
export const MACHINE_LABEL = 'slipway.machine';

/** How many of something a process may have at most, by its name in setrlimit without RLIMIT_. */
export interface Ulimit {
  name: string;
  soft: number;
  hard: number;
}

/** All that a container is made from. */
export interface ContainerPlan {
  launch: Launch;
  /** What the engine calls the image: names its bytes. */
  imageId: string;
  /** What the image takes of a limit of the disk, in bytes; 0 where only what is written counts. */
  imageDiskBytes: number;
  machineId: string;
  /** Name of the network it is put into. */
  network: string;
  /** Limits that hold on this engine; others are not asked for, because some engines then refuse to start. */
  limits: readonly LimitName[];
  /** Vendor and class of the CDI devices, for instance `nvidia.com/gpu`. */
  cdiKind: string;
  ulimits: readonly Ulimit[];
}

/** Period of a share of processors, in microseconds. */
const CPU_PERIOD_MICROS = 100_000;
/** Least share of a processor that Linux knows, in microseconds of the period. */
const CPU_QUOTA_MICROS_MIN = 1_000;
/** Processes and threads of a unit that has no limit of its own: enough for any program, too few to choke the host. */
const PIDS_DEFAULT = 16_384;
/**
 * Shared memory of a unit that has no limits of its own, in bytes. Engines' own 64 MiB end the data loaders of PyTorch.
 */
const SHM_DEFAULT = 2 * 1024 ** 3;

/**
 * Capabilities that engines give and no worker needs: device nodes and file capabilities would stay on the host's disk
 * in a volume, and raw packets can have any sender. Without the last `ping` works as engines set its group range.
 */
const DROPPED = ['MKNOD', 'SETFCAP', 'NET_RAW'];

/** What an engine keeps of a unit's output, in bytes, to be read again after a restart of the agent. */
export const LOG_BYTES_MAX = 4 * 1024 * 1024;
/** On containers whose engine was told that bound; those of earlier agents on Podman were not. */
export const LOG_LABEL = 'slipway.log-bytes';

/** Name of a unit's container: one agent's units never meet another's. */
export function containerName(machineId: string, unitId: string): string {
  return `slipway-${machineId}-${unitId}`;
}

/** Body of Docker's `POST /containers/create`. */
export function dockerBody(plan: ContainerPlan): object {
  const { launch, imageId, network, ulimits } = plan;
  const limits = held(plan);
  const gpus = realGpus(launch.gpus);
  return {
    Image: imageId,
    Labels: labels(plan),
    Env: Object.entries(launch.env).map(([name, value]) => `${name}=${value}`),
    ...(launch.command.length > 0 && { Cmd: launch.command }),
    ...(launch.entrypoint.length > 0 && { Entrypoint: launch.entrypoint }),
    ...(launch.workingDirectory !== '' && { WorkingDir: launch.workingDirectory }),
    HostConfig: {
      NetworkMode: network,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: DROPPED,
      Init: false,
      LogConfig: { Type: 'json-file', Config: { 'max-size': String(LOG_BYTES_MAX), 'max-file': '1' } },
      Mounts: launch.mounts.map(({ source, target }) => ({ Type: 'bind', Source: source, Target: target })),
      ...(limits.memoryBytes && { Memory: limits.memoryBytes, MemorySwap: limits.memoryBytes }),
      ...(limits.cpus && { CpuPeriod: CPU_PERIOD_MICROS, CpuQuota: cpuQuota(limits.cpus) }),
      ...(limits.pids && { PidsLimit: limits.pids }),
      ...(limits.shmBytes && { ShmSize: limits.shmBytes }),
      ...(limits.diskBytes && { StorageOpt: { size: String(limits.diskBytes) } }),
      ...(ulimits.length > 0 && {
        Ulimits: ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })),
      }),
      ...(gpus.length > 0 && { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: gpus, Capabilities: [['gpu']] }] }),
    },
  };
}

/** Body of Podman's `POST /libpod/containers/create`: its Docker-like one takes no CDI devices. */
export function podmanBody(plan: ContainerPlan): object {
  const { launch, imageId, network, ulimits, cdiKind } = plan;
  const limits = held(plan);
  return {
    name: containerName(plan.machineId, launch.unitId),
    image: imageId,
    labels: labels(plan),
    env: launch.env,
    ...(launch.command.length > 0 && { command: launch.command }),
    ...(launch.entrypoint.length > 0 && { entrypoint: launch.entrypoint }),
    ...(launch.workingDirectory !== '' && { work_dir: launch.workingDirectory, create_working_dir: true }),
    netns: { nsmode: 'bridge' },
    Networks: { [network]: {} },
    no_new_privileges: true,
    cap_drop: DROPPED,
    // Not `options['max-size']`, which this interface of Podman takes and ignores.
    log_configuration: { driver: 'k8s-file', size: LOG_BYTES_MAX },
    mounts: launch.mounts.map(({ source, target }) => ({
      type: 'bind',
      source,
      destination: target,
      options: ['rbind', 'rw', 'nosuid', 'nodev'],
    })),
    resource_limits: {
      ...(limits.memoryBytes && { memory: { limit: limits.memoryBytes, swap: limits.memoryBytes } }),
      ...(limits.cpus && { cpu: { period: CPU_PERIOD_MICROS, quota: cpuQuota(limits.cpus) } }),
      ...(limits.pids && { pids: { limit: limits.pids } }),
    },
    ...(limits.shmBytes && { shm_size: limits.shmBytes }),
    ...(limits.diskBytes && { storage_opts: { size: String(limits.diskBytes) } }),
    ...(ulimits.length > 0 && { r_limits: ulimits.map(({ name, soft, hard }) => ({ type: name, soft, hard })) }),
    devices: realGpus(launch.gpus).map((uuid) => ({ path: `${cdiKind}=${uuid}` })),
  };
}

function labels({ launch, machineId }: ContainerPlan): Record<string, string> {
  return { [UNIT_LABEL]: launch.unitId, [MACHINE_LABEL]: machineId, [LOG_LABEL]: String(LOG_BYTES_MAX) };
}

/** The limits that this engine holds. */
function held({ launch, limits, imageDiskBytes }: ContainerPlan): Partial<Launch['limits']> {
  const { memoryBytes, cpus, pids = PIDS_DEFAULT, diskBytes } = launch.limits;
  const shmBytes = launch.limits.shmBytes ?? (memoryBytes === undefined ? SHM_DEFAULT : Math.floor(memoryBytes / 2));
  return {
    ...(limits.includes('memory') && { memoryBytes }),
    ...(limits.includes('cpus') && { cpus }),
    ...(limits.includes('pids') && { pids }),
    ...(limits.includes('shm') && { shmBytes }),
    ...(limits.includes('disk') && { diskBytes: diskBytes && diskBytes + imageDiskBytes }),
  };
}

/** Virtual ones hand nothing over. */
function realGpus(gpus: readonly LaunchGpu[]): string[] {
  return gpus.filter((gpu) => !gpu.virtual).map((gpu) => gpu.uuid);
}

function cpuQuota(cpus: number): number {
  return Math.max(Math.round(cpus * CPU_PERIOD_MICROS), CPU_QUOTA_MICROS_MIN);
}
