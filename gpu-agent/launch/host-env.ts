/**
 * Variables that every process of this machine gets, worker or pod: what programs need to run, who it is, which GPUs it
 * has. Pure.
 */

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
  /** The driver's number of a whole card. Undefined: it is known by its uuid alone. */
  index?: number | undefined;
}

/** What its owner may change. */
export function hostDefaults({ hostEnv, cpuCount, locations }: HostFacts): Record<string, string> {
  return {
    ...(hostEnv ? { PATH: hostEnv.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } : {}),
    PYTHONUNBUFFERED: '1',
    RUNPOD_CPU_COUNT: String(cpuCount),
    ...(locations[0] === undefined || locations[0] === '*' ? {} : { RUNPOD_DC_ID: locations[0] }),
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

/** Which GPUs it has, whatever its owner says; `chosen` is the owner's CUDA_VISIBLE_DEVICES. */
export function gpuVariables(
  { gpus, gpuTypeId, hostEnv }: HostFacts,
  chosen: string | undefined,
): Record<string, string> {
  const real = gpus.filter((gpu) => !gpu.virtual);
  return {
    RUNPOD_GPU_COUNT: String(gpus.length),
    ...(gpuTypeId === '' ? {} : { RUNPOD_GPU_TYPE_ID: gpuTypeId }),
    // Its engine hands a container its own cards and no others, which CUDA counts from 0 there: the variable is the
    // image's and its owner's.
    ...(hostEnv === undefined ? {} : hostCuda(real, chosen)),
    NVIDIA_VISIBLE_DEVICES: real.map(({ uuid }) => uuid).join(',') || 'void',
  };
}

/**
 * A command sees all cards of its host. It gets numbers where it can: many programs, vLLM before 0.27 among them, take
 * nothing else for an entry. Its owner's numbers count the cards that it was given, as in a container; else somebody's
 * 0 would be everybody's. Empty hides every GPU.
 */
function hostCuda(gpus: readonly GivenGpu[], chosen: string | undefined): Record<string, string> {
  const byNumber = gpus.length > 0 && gpus.every(({ index }) => index !== undefined);
  const own = gpus.map(({ uuid, index }) => (byNumber ? String(index) : uuid));
  const entries = chosen?.split(',').map((entry) => entry.trim()) ?? [];
  const isNumbers = entries.every((entry) => /^\d+$/.test(entry));
  return {
    ...(byNumber && { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    CUDA_VISIBLE_DEVICES:
      chosen === undefined
        ? own.join(',')
        : isNumbers
          ? entries.flatMap((entry) => own[Number(entry)] ?? []).join(',')
          : chosen,
  };
}
