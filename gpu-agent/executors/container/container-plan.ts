/**
 * The request to an engine that creates a workload's container: the same plan in Docker's format and in Podman's own.
 * Pure.
 */
import type { Launch, LaunchGpu } from '../executor.ts';
import { podmanUsers } from './container-users.ts';
import type { LimitName } from './engine.ts';

/** Labels that name the workload and machine of a container. */
export const WORKLOAD_LABEL = 'slipway.unit';
export const MACHINE_LABEL = 'slipway.machine';

/** A resource limit of a process, with its name in setrlimit without RLIMIT_. */
export interface Ulimit {
  name: string;
  soft: number;
  hard: number;
}

/** Everything that a container is created from. */
export interface ContainerPlan {
  launch: Launch;
  /** The engine's id of the image, which identifies its bytes. */
  imageId: string;
  /** Bytes that the image uses of a disk limit; 0 where only written bytes count. */
  imageDiskBytes: number;
  machineId: string;
  /** Name of the network that it joins. */
  network: string;
  /**
   * Limits that this engine enforces. Others are not requested, because some engines then fail to start the container.
   */
  limits: readonly LimitName[];
  /** Vendor and class of the CDI devices, for instance `nvidia.com/gpu`. */
  cdiKind: string;
  ulimits: readonly Ulimit[];
  /** Host user that root of the container is; 0: root. Only Podman maps users for a container. */
  userBase: number;
}

/** Period of a CPU quota, in microseconds. */
const CPU_PERIOD_MICROS = 100_000;
/** Smallest CPU quota that Linux supports, in microseconds of the period. */
const CPU_QUOTA_MICROS_MIN = 1_000;
/** Processes and threads of a workload without its own limit: enough for any program, too few to choke the host. */
const PIDS_DEFAULT = 16_384;
/**
 * Shared memory of a workload without its own limits, in bytes. The engines' default of 64 MiB makes PyTorch's data
 * loaders fail.
 */
const SHM_DEFAULT = 2 * 1024 ** 3;

/**
 * Capabilities that engines grant by default and no worker needs. Device nodes and file capabilities would stay on the
 * host's disk in a volume, and raw packets can have any sender. `ping` works without NET_RAW because engines set its
 * group range.
 */
const DROPPED = ['MKNOD', 'SETFCAP', 'NET_RAW'];

/** Bytes of a workload's output that an engine keeps, to be read again after a restart of the agent. */
export const LOG_BYTES_MAX = 4 * 1024 * 1024;
/** Label of containers whose engine has that limit. Containers of earlier agents on Podman lack it. */
export const LOG_LABEL = 'slipway.log-bytes';

/**
 * Returns the name of a workload's container. It includes the machine, so workloads of two agents never share a name.
 */
export function containerName(machineId: string, workloadId: string): string {
  return `slipway-${machineId}-${workloadId}`;
}

/** Returns the body of Docker's `POST /containers/create`. */
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
      Mounts: launch.mounts.map(({ source, target, readOnly = false }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ReadOnly: readOnly,
      })),
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

/**
 * Returns the body of Podman's `POST /libpod/containers/create`. Podman's Docker-compatible call accepts no CDI
 * devices.
 */
export function podmanBody(plan: ContainerPlan): object {
  const { launch, imageId, network, ulimits, cdiKind } = plan;
  const limits = held(plan);
  return {
    name: containerName(plan.machineId, launch.workloadId),
    image: imageId,
    labels: labels(plan),
    env: launch.env,
    ...(launch.command.length > 0 && { command: launch.command }),
    ...(launch.entrypoint.length > 0 && { entrypoint: launch.entrypoint }),
    ...(launch.workingDirectory !== '' && { work_dir: launch.workingDirectory, create_working_dir: true }),
    netns: { nsmode: 'bridge' },
    Networks: { [network]: {} },
    ...(plan.userBase !== 0 && podmanUsers(plan.userBase)),
    no_new_privileges: true,
    cap_drop: DROPPED,
    // Not `options['max-size']`, which this Podman API accepts and ignores.
    log_configuration: { driver: 'k8s-file', size: LOG_BYTES_MAX },
    mounts: launch.mounts.map(({ source, target, readOnly }) => ({
      type: 'bind',
      source,
      destination: target,
      options: ['rbind', readOnly ? 'ro' : 'rw', 'nosuid', 'nodev'],
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
  return { [WORKLOAD_LABEL]: launch.workloadId, [MACHINE_LABEL]: machineId, [LOG_LABEL]: String(LOG_BYTES_MAX) };
}

/** Returns the limits that this engine enforces. */
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

/** Returns the UUIDs of real GPUs: virtual GPUs have no device to pass. */
function realGpus(gpus: readonly LaunchGpu[]): string[] {
  return gpus.filter((gpu) => !gpu.virtual).map((gpu) => gpu.uuid);
}

function cpuQuota(cpus: number): number {
  return Math.max(Math.round(cpus * CPU_PERIOD_MICROS), CPU_QUOTA_MICROS_MIN);
}
