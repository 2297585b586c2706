/**
 * Environment variables that every process of this machine gets, worker or pod: what programs need to run, its
 * identity, and its GPUs. Pure.
 */

/** Facts about a process and its machine. */
export interface HostFacts {
  /** The machine's name, for RUNPOD_POD_HOSTNAME. */
  machineName: string;
  /** The machine's locations; the first names the data centre. */
  locations: readonly string[];
  /** Variables of the agent's host that a process may see. `undefined` for a container, whose image has its own. */
  hostEnv: Readonly<Record<string, string>> | undefined;
  /** GPUs that are assigned to it. */
  gpus: readonly GivenGpu[];
  /** The account's name for its GPU. */
  gpuTypeId: string;
  /** Directory of its network volume; `undefined` if it has none. */
  volumePath: string | undefined;
  /** Processors of its size, or of the host if its size names none. */
  cpuCount: number;
}

/** One GPU of a process. */
interface GivenGpu {
  uuid: string;
  name: string;
  /** Declared by configuration, not reported by a driver. */
  virtual: boolean;
  /** The driver's index of a whole card. `undefined` if the GPU is known by its UUID only. */
  index?: number | undefined;
}

/** Returns the variables that its owner may override. */
export function hostDefaults({ hostEnv, cpuCount, locations }: HostFacts): Record<string, string> {
  return {
    ...(hostEnv ? { PATH: hostEnv.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } : {}),
    PYTHONUNBUFFERED: '1',
    RUNPOD_CPU_COUNT: String(cpuCount),
    ...(locations[0] === undefined || locations[0] === '*' ? {} : { RUNPOD_DC_ID: locations[0] }),
  };
}

/** Returns the variables that identify it. */
export function nameVariables(id: string, { machineName, volumePath }: HostFacts): Record<string, string> {
  return {
    RUNPOD_POD_ID: id,
    RUNPOD_POD_HOSTNAME: `${id}-${machineName}`,
    ...(volumePath === undefined ? {} : { RUNPOD_VOLUME_PATH: volumePath }),
  };
}

/**
 * Returns the variables for its GPUs, which its owner cannot override. `chosen` is the owner's CUDA_VISIBLE_DEVICES.
 */
export function gpuVariables(
  { gpus, gpuTypeId, hostEnv }: HostFacts,
  chosen: string | undefined,
): Record<string, string> {
  const real = gpus.filter((gpu) => !gpu.virtual);
  return {
    RUNPOD_GPU_COUNT: String(gpus.length),
    ...(gpuTypeId === '' ? {} : { RUNPOD_GPU_TYPE_ID: gpuTypeId }),
    // The engine gives a container only its own cards, which CUDA counts from 0 there. The variable is left to the
    // image and its owner.
    ...(hostEnv === undefined ? {} : hostCuda(real, chosen)),
    NVIDIA_VISIBLE_DEVICES: real.map(({ uuid }) => uuid).join(',') || 'void',
  };
}

/**
 * Returns the CUDA variables of a command, which sees all cards of its host. Cards are named by index where possible:
 * many programs, for instance vLLM before 0.27, accept nothing else. The owner's numbers count the assigned cards, as
 * in a container; otherwise one owner's 0 would be everyone's. An empty value hides every GPU.
 */
function hostCuda(gpus: readonly GivenGpu[], chosen: string | undefined): Record<string, string> {
  const byNumber = gpus.length > 0 && gpus.every(({ index }) => index !== undefined);
  const own = gpus.map(({ uuid, index }) => (byNumber ? String(index) : uuid));
  const entries = chosen?.split(',').map((entry) => entry.trim()) ?? [];
  const isNumbers = entries.every((entry) => /^\d+$/.test(entry));
  const ofOwner = isNumbers ? entries.flatMap((entry) => own[Number(entry)] ?? []).join(',') : chosen;
  return {
    ...(byNumber && { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    CUDA_VISIBLE_DEVICES: chosen === undefined ? own.join(',') : ofOwner!,
  };
}
