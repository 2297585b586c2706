/** Variables that every process of this machine gets, worker or pod: what programs need to run, who it is, which GPUs it has. Pure. */

/** What the machine knows about a process. */
export interface HostFacts {
  /** The machine's name, for RUNPOD_POD_HOSTNAME. */
  machineName: string;
  /** The machine's locations; the first names the data centre. */
  locations: readonly string[];
  /** Variables of the agent's host that a process may see. Undefined: it is a container, whose image has its own. */
  hostEnv: Readonly<Record<string, string>> | undefined;
  /** GPUs it was given. */
  gpus: readonly GivenGpu[];
  /** The account's name for its GPU. */
  gpuTypeId: string;
  /** Directory of its network volume; undefined: it has none. */
  volumePath: string | undefined;
  /** Processors of the host, or those that it was sized for. */
  cpuCount: number;
}

/** One GPU of a process. */
export interface GivenGpu {
  uuid: string;
  name: string;
  /** Declared by configuration, not by a driver. */
  virtual: boolean;
}

/** What its owner may change. */
export function hostDefaults({ hostEnv, cpuCount, locations }: HostFacts): Record<string, string> {
  return {
    ...(hostEnv ? { PATH: hostEnv.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } : {}),
    PYTHONUNBUFFERED: '1',
    RUNPOD_CPU_COUNT: String(cpuCount),
    ...(locations[0] === undefined ? {} : { RUNPOD_DC_ID: locations[0] }),
  };
}

/** Who it is. */
export function nameVariables(id: string, { machineName, volumePath }: HostFacts): Record<string, string> {
  return {
    RUNPOD_POD_ID: id,
    RUNPOD_POD_HOSTNAME: `${id}-${machineName}`,
    ...(volumePath === undefined ? {} : { RUNPOD_VOLUME_PATH: volumePath }),
  };
}

/** Which GPUs it has. */
export function gpuVariables({ gpus, gpuTypeId }: HostFacts): Record<string, string> {
  const uuids = gpus.filter((gpu) => !gpu.virtual).map((gpu) => gpu.uuid).join(',');
  return {
    RUNPOD_GPU_COUNT: String(gpus.length),
    ...(gpuTypeId === '' ? {} : { RUNPOD_GPU_TYPE_ID: gpuTypeId }),
    // Empty hides every GPU: a process must not use one that it was not given.
    CUDA_VISIBLE_DEVICES: uuids,
    NVIDIA_VISIBLE_DEVICES: uuids === '' ? 'void' : uuids,
  };
}
