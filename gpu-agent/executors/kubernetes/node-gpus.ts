/**
 * The GPUs of a node as Kubernetes knows them: the devices that NVIDIA's DRA driver offers, each by its UUID; or, where
 * there is no such driver, the count of its device plugin, whose cards cannot be told apart. Pure.
 */
import type { MachineGpu } from '../../inventory/machine-gpu.ts';
import type { ApiDevice, ApiNode, ApiPod, ApiResourceClaim, ApiResourceSlice } from './api-types.ts';

/** Resource that NVIDIA's device plugin counts: GPUs, or slices if all of the node are alike. */
export const GPU_RESOURCE = 'nvidia.com/gpu';
/** With its strategy `mixed` the plugin counts the slices of each MIG profile as a separate resource. */
const MIG_RESOURCE = /^nvidia\.com\/(mig-[^-]+)$/;
/** Name of NVIDIA's DRA driver, which also begins its device classes. */
const DRIVER = 'gpu.nvidia.com';
const MIG_CLASS = 'mig.nvidia.com';
const MIB = 1024 ** 2;

/** A GPU that can be claimed. */
export interface GpuDevice {
  uuid: string;
  driver: string;
  deviceClass: string;
}

/** GPUs of a node. */
export interface NodeGpus {
  gpus: MachineGpu[];
  cudaVersion: string;
  /** The devices by UUID. `undefined`: the node's plugin only counts its GPUs. */
  devices: ReadonlyMap<string, GpuDevice> | undefined;
  /** UUIDs by pool and name of the device. */
  uuids: ReadonlyMap<string, string>;
}

/** Returns the GPUs of a node. `slices`: the node's, of all drivers. */
export function gpusOf(node: ApiNode, slices: readonly ApiResourceSlice[]): NodeGpus {
  const own = slices.filter(({ spec }) => spec.driver === DRIVER);
  return own.length > 0 ? claimable(own) : counted(node);
}

function claimable(slices: readonly ApiResourceSlice[]): NodeGpus {
  const newest = new Map<string, number>();
  for (const { spec } of slices)
    newest.set(spec.pool.name, Math.max(newest.get(spec.pool.name) ?? 0, spec.pool.generation ?? 0));
  const found = slices
    .filter(({ spec }) => (spec.pool.generation ?? 0) === newest.get(spec.pool.name))
    .flatMap(({ spec }) => (spec.devices ?? []).map((device) => ({ device, pool: spec.pool.name })))
    .flatMap(({ device, pool }) => {
      const gpu = gpuOf(device);
      return gpu ? [{ device, pool, gpu }] : [];
    });
  const cuda = found.map(({ device }) => attribute(device, 'cudaDriverVersion')?.version).find(Boolean) ?? '';
  return {
    gpus: found.map(({ gpu }) => gpu),
    cudaVersion: cuda.split('.').slice(0, 2).join('.'),
    devices: new Map(
      found.map(({ gpu: { uuid, migProfile } }) => [
        uuid,
        { uuid, driver: DRIVER, deviceClass: migProfile === '' ? DRIVER : MIG_CLASS },
      ]),
    ),
    uuids: new Map(found.map(({ device, pool, gpu }) => [deviceKey(pool, device.name), gpu.uuid])),
  };
}

function gpuOf(device: ApiDevice): MachineGpu | undefined {
  const uuid = attribute(device, 'uuid')?.string;
  const name = attribute(device, 'productName')?.string;
  if (!uuid || !name) return undefined;
  const migProfile = attribute(device, 'profile')?.string ?? '';
  const memoryMib = Math.floor(quantity(device.capacity?.['memory']?.value ?? '0') / MIB);
  return { uuid, name, memoryMib, migProfile, virtual: false };
}

/** Returns an attribute. Drivers may write it with their domain or without. */
function attribute({ attributes = {} }: ApiDevice, name: string) {
  return attributes[name] ?? attributes[`${DRIVER}/${name}`];
}

/** Returns the cards and slices that the device plugin counts. */
function counted({ metadata, status }: ApiNode): NodeGpus {
  const { labels = {}, name } = metadata;
  const gpus = Object.entries(status?.capacity ?? {}).flatMap(([resource, capacity]) => {
    if (!isCounted(resource)) return [];
    // GPU feature discovery has the labels of a profile below the profile's resource.
    const card = cardOf(labels[`${resource}.product`] ?? '');
    const migProfile = MIG_RESOURCE.test(resource) ? profileOf(resource) : card.migProfile;
    const memoryMib = Number(labels[`${resource}.memory`] ?? 0) || 0;
    return Array.from({ length: Math.floor(quantity(capacity)) }, (_, index) => ({
      uuid: countedUuid(name, resource, index),
      name: card.name || cardOf(labels[`${GPU_RESOURCE}.product`] ?? '').name || 'NVIDIA GPU',
      memoryMib,
      migProfile,
      virtual: false,
    }));
  });
  return { gpus, cudaVersion: cudaOf(labels), devices: undefined, uuids: new Map() };
}

/** Returns true for a resource by which GPUs or MIG slices are counted. */
export function isCounted(resource: string): boolean {
  return resource === GPU_RESOURCE || MIG_RESOURCE.test(resource);
}

/** Returns the card and the MIG profile that a product label names: `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`. */
function cardOf(label: string): { name: string; migProfile: string } {
  const [, product = '', migProfile = ''] = /^(.*?)(?:-MIG-(.*))?$/.exec(label)!;
  return { name: productName(product.replace(/-SHARED$/, '')), migProfile };
}

/** Returns the profile as the driver writes it. A resource cannot have its plus sign: `nvidia.com/mig-1g.10gb.me`. */
function profileOf(resource: string): string {
  return resource
    .replace(MIG_RESOURCE, '$1')
    .replace(/^mig-/, '')
    .replace(/(gb)\.(.+)$/, '$1+$2');
}

/** Returns the UUID by which Slipway counts a card that it cannot tell from others of its resource. */
function countedUuid(node: string, resource: string, index: number): string {
  return `${node}-${resource.replace(/^nvidia\.com\//, '')}-${index}`;
}

/** Returns the resource that a UUID of `gpusOf` was counted by. */
export function countedBy(uuid: string): string {
  const [, slice] = /-(mig-[^-]+)-\d+$/.exec(uuid) ?? [];
  return slice === undefined ? GPU_RESOURCE : `nvidia.com/${slice}`;
}

function cudaOf(labels: Record<string, string>): string {
  const major = labels['nvidia.com/cuda.runtime-version.major'] ?? labels['nvidia.com/cuda.runtime.major'];
  const minor = labels['nvidia.com/cuda.runtime-version.minor'] ?? labels['nvidia.com/cuda.runtime.minor'];
  return major === undefined || minor === undefined ? '' : `${major}.${minor}`;
}

/** Dashes that are part of a driver's name. Other dashes in a label stand for spaces. */
const DASHED = /([AV]100)-(SXM\d|PCIE|FHHL)-(\d+GB)|Max-Q/g;

/** Returns the driver's name of a card from a label, which cannot hold spaces: `NVIDIA-H100-80GB-HBM3`. */
export function productName(label: string): string {
  const kept = label.replaceAll(DASHED, (text) => text.replaceAll('-', '\0'));
  return kept.replaceAll('-', ' ').replaceAll('\0', '-');
}

/** Units of quantities. */
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** Returns the number of a quantity such as `512Gi` or `64`; 0 if it is none. */
export function quantity(text: string): number {
  const [, number, unit] = /^([\d.]+(?:e\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  return number === undefined ? 0 : Number(number) * (UNITS[unit!] ?? 0);
}

function deviceKey(pool: string, device: string): string {
  return `${pool}/${device}`;
}

/** Foreign users of the GPUs of a node. */
interface Others {
  /** Pods on the node that are not this machine's. */
  pods: readonly ApiPod[];
  /** Claims that are not this machine's. */
  claims: readonly ApiResourceClaim[];
  /** UUIDs that workloads of this machine have. */
  own: ReadonlySet<string>;
}

/** Returns which GPUs Pods outside Slipway hold, each with the name of its Pod. */
export function occupants({ gpus, devices, uuids }: NodeGpus, { pods, claims, own }: Others): Map<string, string> {
  if (devices) {
    return new Map(
      claims.flatMap(({ metadata: { namespace, name }, status }) => {
        const user = status?.reservedFor?.find(({ resource }) => resource === 'pods')?.name;
        const text = user === undefined ? `ResourceClaim ${namespace}/${name}` : `Pod ${namespace}/${user}`;
        const results = status?.allocation?.devices?.results ?? [];
        return results.flatMap(({ driver, pool, device }): [string, string][] => {
          const uuid = driver === DRIVER ? uuids.get(deviceKey(pool, device)) : undefined;
          return uuid === undefined ? [] : [[uuid, text]];
        });
      }),
    );
  }
  // Which of the cards a Pod has cannot be seen: any that no workload of this machine has.
  const free = gpus.filter(({ uuid }) => !own.has(uuid)).reverse();
  return new Map(
    pods.flatMap((pod) =>
      [...gpusOfPod(pod)].flatMap(([resource, count]) => {
        const held = free.filter(({ uuid }) => countedBy(uuid) === resource).slice(0, count);
        for (const gpu of held) free.splice(free.indexOf(gpu), 1);
        return held.map(({ uuid }): [string, string] => [uuid, `Pod ${pod.metadata.namespace}/${pod.metadata.name}`]);
      }),
    ),
  );
}

/** Returns how many GPUs and slices a Pod has by count, by resource. A Pod that has ended has none. */
function gpusOfPod({ spec, status }: ApiPod): Map<string, number> {
  const counts = new Map<string, number>();
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return counts;
  const limitsOf = (container: { resources?: { limits?: Record<string, string> } }): [string, number][] =>
    Object.entries(container.resources?.limits ?? {})
      .filter(([resource]) => isCounted(resource))
      .map(([resource, count]) => [resource, quantity(count)]);
  for (const [resource, count] of (spec?.containers ?? []).flatMap(limitsOf))
    counts.set(resource, (counts.get(resource) ?? 0) + count);
  for (const [resource, count] of (spec?.initContainers ?? []).flatMap(limitsOf))
    counts.set(resource, Math.max(counts.get(resource) ?? 0, count));
  return counts;
}
