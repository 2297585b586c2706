/** Chooses GPUs or a CPU size of a machine for a worker, by the preferences of its request. Pure. */

import type { CpuSize } from '../machines/cpu-size.ts';
import { cpuSize } from '../machines/cpu-size.ts';
import { gpuPreference, sameCard } from '../machines/gpu-pools.ts';
import { blamedLast } from './machine-crashes.ts';
import type { PlacementGpu, PlacementMachine, PlacementRequest } from './placement-machine.ts';

/**
 * Returns whether enough usable GPUs of one requested type exist. Hot path: called per machine and placed worker, so it
 * copies nothing.
 */
export function hasEnough(
  machine: PlacementMachine,
  request: PlacementRequest,
  usable: (gpu: PlacementGpu) => boolean,
): boolean {
  if (request.gpuCount === 1) return machine.gpus.some((gpu) => usable(gpu) && rankOf(gpu, request) !== undefined);
  const counts = new Map<string, number>();
  return machine.gpus.some((gpu) => {
    if (!usable(gpu) || rankOf(gpu, request) === undefined) return false;
    const type = typeOf(gpu);
    counts.set(type, (counts.get(type) ?? 0) + 1);
    return counts.get(type)! >= request.gpuCount;
  });
}

/** Returns the type of a GPU: its card, and its MIG profile if it is a slice. */
export function typeOf({ name, migProfile }: PlacementGpu): string {
  return `${sameCard(name)} ${migProfile}`;
}

/** Returns the most preferred size for which the machine has capacity. */
export function sizeFor(machine: PlacementMachine, { instanceIds }: PlacementRequest): CpuSize | undefined {
  const [vcpus, memoryGb] = freeCapacityOf(machine);
  return instanceIds
    .map(cpuSize)
    .find((size) => size !== undefined && size.vcpus <= vcpus && size.memoryGb <= memoryGb);
}

/** Returns free CPUs and memory in GB. */
export const freeCapacityOf = ({
  vcpus,
  vcpusUsed,
  memoryGb,
  memoryGbUsed,
}: PlacementMachine): [vcpus: number, memoryGb: number] => [
  vcpus === 0 ? Infinity : Math.max(0, vcpus - vcpusUsed),
  memoryGb === 0 ? Infinity : Math.max(0, memoryGb - memoryGbUsed),
];

/** GPUs of one type on a machine, for a worker. */
interface GpuChoice {
  /** Index of the type in the list of preferences. */
  rank: number;
  gpuUuids: string[];
  /** Number of further free GPUs of that type. */
  spare: number;
}

/**
 * Returns the most preferred type with enough free GPUs. Among equal types, the type that evicts the fewest standby
 * workers and leaves the fewest GPUs.
 */
export function choice(machine: PlacementMachine, request: PlacementRequest): GpuChoice | undefined {
  const { gpuCount } = request;
  if (gpuCount === 0) return { rank: 0, gpuUuids: [], spare: 0 };
  const byType = new Map<string, { rank: number; gpuUuids: string[]; free: number }>();
  for (const gpu of blamedLast(longestStandbyFirst(machine), machine.crashes)) {
    const rank = rankOf(gpu, request);
    if (gpu.used || gpu.unhealthy !== '' || rank === undefined) continue;
    const type = typeOf(gpu);
    const group = byType.get(type) ?? { rank, gpuUuids: [], free: 0 };
    // GPUs without a standby worker come first, then by how long their worker has been on standby, longest first.
    if (gpu.standby) group.gpuUuids.push(gpu.uuid);
    else group.gpuUuids.splice(group.free++, 0, gpu.uuid);
    byType.set(type, group);
  }
  const fitting = [...byType.values()].filter((group) => group.gpuUuids.length >= gpuCount);
  const best = fitting.sort(
    (a, b) =>
      a.rank - b.rank ||
      Math.min(b.free, gpuCount) - Math.min(a.free, gpuCount) ||
      a.gpuUuids.length - b.gpuUuids.length,
  )[0];
  return (
    best && { rank: best.rank, gpuUuids: best.gpuUuids.slice(0, gpuCount), spare: best.gpuUuids.length - gpuCount }
  );
}

/** Returns the GPUs in their order, those of standby workers last: the longest on standby first, running ones last. */
function longestStandbyFirst({ gpus, standbys }: PlacementMachine): readonly PlacementGpu[] {
  if (gpus.length < 2 || !gpus.some(({ standby }) => standby)) return gpus;
  const since = (gpu: PlacementGpu): number => {
    const on = standbys.filter(({ gpuUuids }) => gpuUuids.includes(gpu.uuid));
    return Math.max(-1, ...on.map(({ frozenMs, running }) => (running ? -1 : frozenMs)));
  };
  const kept = gpus.filter(({ standby }) => !standby);
  return [...kept, ...gpus.filter(({ standby }) => standby).toSorted((a, b) => since(b) - since(a))];
}

/**
 * Cache of ranks by list of preferences, name and profile. A decision needs the rank of every GPU of every machine
 * several times.
 */
const ranks = new WeakMap<readonly string[], Map<string, Map<string, number | undefined>>>();

/**
 * Returns the index of a GPU in the list of preferences, `undefined` if it is not requested. A MIG slice does not match
 * the name of its card.
 */
export function rankOf(
  gpu: Pick<PlacementGpu, 'name' | 'migProfile' | 'shortGb'>,
  { gpuIds }: Pick<PlacementRequest, 'gpuIds'>,
): number | undefined {
  if (gpu.shortGb !== undefined && gpuIds.some((id) => !id.startsWith('-'))) return undefined;
  let named = ranks.get(gpuIds);
  if (!named) ranks.set(gpuIds, (named = new Map()));
  let known = named.get(gpu.name);
  if (!known) named.set(gpu.name, (known = new Map()));
  // No combined key is built: building and hashing it would cost more than the rest of the lookup.
  if (!known.has(gpu.migProfile)) known.set(gpu.migProfile, findRank(gpu.name, gpu.migProfile, gpuIds));
  return known.get(gpu.migProfile);
}

function findRank(name: string, migProfile: string, gpuIds: readonly string[]): number | undefined {
  const { order, excluded } = gpuPreference(gpuIds);
  const type = sameCard(name);
  if (excluded.has(type)) return undefined;
  if (order.length === 0) return 0;
  const rank = migProfile === '' ? order.indexOf(type) : order.indexOf(`${type} MIG ${migProfile}`);
  return rank === -1 ? undefined : rank;
}
