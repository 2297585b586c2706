/**
 * CPU flavours and processors as this surface names them, and the contract's instance ids
 * (docs/reference/management.md#cpu-sizes).
 */

/** GB of memory for each processor, by flavour. */
const GB_PER_VCPU = { cpu3c: 2, cpu3g: 4, cpu3m: 8, cpu5c: 2, cpu5g: 4, cpu5m: 8 } as const;
export type Flavor = keyof typeof GB_PER_VCPU;

/** Flavours that endpoints and pods can ask for. */
export const ENDPOINT_FLAVORS = ['cpu3c', 'cpu3g', 'cpu5c', 'cpu5g'] as const satisfies Flavor[];
export const POD_FLAVORS = ['cpu3c', 'cpu3g', 'cpu3m', 'cpu5c', 'cpu5g', 'cpu5m'] as const satisfies Flavor[];

export const DEFAULT_FLAVOR = 'cpu3c';
export const DEFAULT_VCPUS = 2;

/** Fields of a body for the size of a resource without a GPU. */
export interface SizeInput {
  cpuFlavorIds?: string[];
  vcpuCount?: number;
  instanceIds?: string[];
}

/** Returns the instance ids of a body, merged with the current ones. `undefined` if the body does not set them. */
export function instanceIdsOf(
  { cpuFlavorIds, vcpuCount, instanceIds }: SizeInput,
  before: readonly string[] = [],
): string[] | undefined {
  if (instanceIds !== undefined) return instanceIds;
  if (cpuFlavorIds === undefined && vcpuCount === undefined) return undefined;
  const sizes = before.map((id) => id.split('-'));
  const known = [...new Set(sizes.map(([flavor]) => flavor!))];
  const flavors = cpuFlavorIds ?? (known.length > 0 ? known : [DEFAULT_FLAVOR]);
  const vcpus = vcpuCount ?? Number(sizes[0]?.[1] ?? DEFAULT_VCPUS);
  return flavors.map((flavor) => `${flavor}-${vcpus}-${vcpus * gbPerVcpu(flavor)}`);
}

/** Returns flavor, vCPUs and GB of an instance id. `undefined` if it is empty. */
export function sizeOf(instanceId: string): { flavor: string; vcpuCount: number; memoryInGb: number } | undefined {
  const [flavor, vcpus, memory] = instanceId.split('-');
  return memory === undefined ? undefined : { flavor: flavor!, vcpuCount: Number(vcpus), memoryInGb: Number(memory) };
}

/**
 * Returns a flavour's GB of memory per processor. An unknown flavour, which only other surfaces can set, has the least.
 */
export function gbPerVcpu(flavor: string): number {
  return Object.hasOwn(GB_PER_VCPU, flavor) ? GB_PER_VCPU[flavor as Flavor] : GB_PER_VCPU[DEFAULT_FLAVOR];
}
