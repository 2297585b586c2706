/**
 * Workers that only do jobs of low priority give way to a worker that finds no place: they take no more jobs, and go when they have done what they hold.
 * Nothing is broken off. Pure.
 */
import type { GpuShare } from './gpu-share.ts';
import { bestOf, occupied } from './placement.ts';
import { choice, machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';
import type { ScaleLimit } from './scale-target.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';

/** A worker whose GPUs come free, or would if it were asked to go. */
export interface LeavingWorker {
  id: string;
  accountId: string;
  machineId: string;
  gpuUuids: readonly string[];
  /** It goes already. */
  going: boolean;
}

/** Who may give way, and what each account concerned has. */
export interface GivingWay {
  own: GpuShare;
  others: readonly GpuShare[];
  workers: readonly LeavingWorker[];
}

/** Workers that an endpoint can do without: they hold jobs of low priority alone, none of normal priority waits, and workersMin needs none of them. */
export function dispensable({ queued, workers }: ScaleSample, { workersMin }: Pick<ScaleSettings, 'workersMin'>): WorkerSample[] {
  if (queued > 0) return [];
  const present = workers.filter(({ desired }) => desired === 'RUN');
  const low = present.filter(({ lowOnly, state, gpus }) => lowOnly === true && state === 'READY' && gpus > 0);
  return low.slice(0, Math.max(present.length - workersMin, 0));
}

/**
 * Which workers are to go so that `wanted` more find places in the end: none for those that find one now or when what goes already is gone, and of
 * another account only while that has no less for its weight than this one would have.
 */
export function askedToGo(all: readonly PlacementMachine[], request: PlacementRequest, wanted: number, { own, others, workers }: GivingWay): string[] {
  if (request.gpuCount === 0 || wanted === 0) return [];
  let machines = freed(all, workers.filter(({ going }) => going));
  let left = wanted;
  for (let place = bestOf(machines, request); place && left > 0; place = bestOf(machines, request)) {
    const { machineId } = place;
    const given = place;
    machines = machines.map((machine) => (machine.id === machineId ? occupied(machine, given) : machine));
    left -= 1;
  }
  const shares = new Map([own, ...others].map((share) => [share.accountId, { ...share }]));
  const ownShare = shares.get(own.accountId)!;
  const asked = new Set<string>();
  // Who may go only gets fewer, so that what was found of a machine stands until one of those may not, or the machine has changed.
  const found = new Map<string, Fewest | undefined>();
  for (; left > 0; left -= 1) {
    const mayGo = workers.filter(({ id, accountId, going }) => {
      const theirs = shares.get(accountId);
      const fair = theirs && (accountId === own.accountId || (ownShare.gpus + request.gpuCount) / ownShare.weight <= theirs.gpus / theirs.weight);
      return !going && fair && !asked.has(id);
    });
    const allowed = new Set(mayGo);
    for (const machine of machines) {
      const known = found.get(machine.id);
      if (!found.has(machine.id) || known?.workers.some((worker) => !allowed.has(worker))) found.set(machine.id, fewestOf(machine, request, mayGo));
    }
    const fewest = machines.map(({ id }) => found.get(id)).filter((some) => some !== undefined).toSorted((a, b) => a.workers.length - b.workers.length)[0];
    if (!fewest) break;
    for (const { id } of fewest.workers) asked.add(id);
    ownShare.gpus += request.gpuCount;
    for (const { accountId, gpuUuids } of fewest.workers) shares.get(accountId)!.gpus -= gpuUuids.length;
    machines = machines.map((machine) => (machine.id === fewest.machine.id ? fewest.machine : machine));
    found.delete(fewest.machine.id);
  }
  return [...asked];
}

/** As few workers of a machine as make room there, and the machine with the new worker in their place. */
interface Fewest {
  workers: LeavingWorker[];
  machine: PlacementMachine;
}

/** Undefined: not even all of them make room. */
function fewestOf(machine: PlacementMachine, request: PlacementRequest, mayGo: readonly LeavingWorker[]): Fewest | undefined {
  const here = mayGo.filter(({ machineId }) => machineId === machine.id);
  for (let count = 1; count <= here.length; count += 1) {
    const [without] = freed([machine], here.slice(0, count));
    if (!without || machineRefusal(without, request) !== undefined) continue;
    const gpuUuids = choice(without, request)?.gpuUuids ?? [];
    const workers = here.slice(0, count).filter((worker) => worker.gpuUuids.some((uuid) => gpuUuids.includes(uuid)));
    const [left] = freed([machine], workers);
    return { workers, machine: occupied(left!, { machineId: machine.id, gpuUuids, instanceId: '', evicted: [] }) };
  }
  return undefined;
}

/** Machines without these workers. */
function freed(machines: readonly PlacementMachine[], workers: readonly LeavingWorker[]): PlacementMachine[] {
  const uuids = new Set(workers.flatMap(({ gpuUuids }) => gpuUuids));
  if (uuids.size === 0) return [...machines];
  return machines.map((machine) => ({ ...machine, gpus: machine.gpus.map((gpu) => (uuids.has(gpu.uuid) ? { ...gpu, used: false } : gpu)) }));
}

/** Workers on these machines that give way to an endpoint. */
export function givingWayTo(machines: readonly PlacementMachine[], endpointId: string): number {
  return machines.reduce((sum, { gaveWayTo = [] }) => sum + gaveWayTo.filter((id) => id === endpointId).length, 0);
}

/** A refusal for the owner of who waits; `count`: workers that give way to him. */
export function withGivingWay(refusal: string, count: number): string {
  if (count === 0) return refusal;
  return count === 1 ? `${refusal}; a worker that only does jobs of low priority gives way when it is done with them`
    : `${refusal}; ${count} workers that only do jobs of low priority give way when they are done with them`;
}

/** So long after its end a worker's owner is told that it gave way. */
export const GAVE_WAY_TOLD_MINUTES = 10;

/** A worker that gives or gave way. */
export interface GaveWay {
  workerId: string;
  /** The endpoint of the same account that needs its GPUs. Empty: another account's, which nobody else is told of. */
  toOwn: string;
}

/** Why it goes, for its owner. */
export function gaveWayText({ toOwn }: GaveWay): string {
  return toOwn === '' ? 'another account that has fewer GPUs for its weight needs them' : `endpoint ${toOwn} of this account needs its GPUs`;
}

/** The same of all of an endpoint, as limits: they are not given back while others need them. */
export function gaveWayLimits(all: readonly GaveWay[]): ScaleLimit[] {
  return [...Map.groupBy(all, ({ toOwn }) => toOwn)].map(([toOwn, workers]) => {
    const who = toOwn === '' ? 'another account that has fewer GPUs for its weight' : `endpoint ${toOwn} of this account`;
    const count = workers.length === 1 ? 'a worker' : `${workers.length} workers`;
    const text = `${count} that only did jobs of low priority gave way in the last ${GAVE_WAY_TOLD_MINUTES} minutes, because ${who} needed the GPUs`;
    return { limit: 'GAVE_WAY', cut: workers.length, text };
  });
}
