/** Finds the GPUs on which offloaded workers can resume, and running workers that may make way for others. Pure. */

import { expectedOffloadMs, expectedRestoreMs } from '../machines/standby.ts';
import type { PlacementSlot } from './placement.ts';
import type { PlacementMachine } from './placement-machine.ts';
import type { OffloadedSample, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { freedStandbys } from './standby/standby-offload.ts';

/** An offloaded worker of an endpoint that needs a worker. Logged with decisions: member names are persisted. */
export interface RestorableWorker extends OffloadedSample {
  workerId: string;
  machineId: string;
}

/** A running worker that may be offloaded if others find no GPU. */
export interface MovableWorker {
  id: string;
  machineId: string;
  gpuUuids: readonly string[];
  bytes: number;
  offloadMs: number;
  idleMs: number;
}

/**
 * Returns the offloaded worker that can resume soonest, with the standby workers that leave its GPUs: free GPUs first.
 * `undefined` if none can.
 */
export function bestRestore(
  machines: readonly PlacementMachine[],
  restorable: readonly RestorableWorker[],
): RestoreSlot | undefined {
  const options = restorable.flatMap((worker) => {
    const machine = machines.find(({ id }) => id === worker.machineId);
    const option = machine && restoreOn(machine, worker);
    return option ? [option] : [];
  });
  const [best] = options.toSorted(
    (a, b) => a.moves - b.moves || a.evicted.length - b.evicted.length || a.expectedMs - b.expectedMs,
  );
  if (!best) return undefined;
  const { moves: _, offloaded, ...slot } = best;
  return { ...slot, ...(offloaded.length > 0 && { offloaded }) };
}

/**
 * Returns whether a new worker on free GPUs is expected to be ready before an offloaded one that others must be moved
 * for. `startMs`: duration of its own cold start. An offloaded worker whose GPUs are free always resumes.
 */
export function isSoonerFresh(
  restore: RestoreSlot,
  startMs: number | undefined,
  fresh: PlacementSlot | undefined,
): boolean {
  if (!fresh || startMs === undefined || isFreeSlot(restore) || !isFreeSlot(fresh)) return false;
  return startMs < restore.expectedMs;
}

function isFreeSlot({ evicted, offloaded = [] }: PlacementSlot): boolean {
  return evicted.length === 0 && offloaded.length === 0;
}

/** An offloaded worker that resumes on its GPUs, and the expected milliseconds until it has. */
export type RestoreSlot = PlacementSlot & { workerId: string; expectedMs: number };

type RestoreOption = RestoreSlot & Required<Pick<PlacementSlot, 'offloaded'>> & { moves: number };

function restoreOn(machine: PlacementMachine, { workerId, gpuUuids, restoreMs }: RestorableWorker) {
  if (!machine.connected || machine.cordoned) return undefined;
  const gpus = gpuUuids.map((uuid) => machine.gpus.find((gpu) => gpu.uuid === uuid));
  if (gpus.some((gpu) => !gpu || gpu.unhealthy !== '' || (gpu.used && !gpu.movable))) return undefined;
  const leaving = machine.standbys
    .filter((standby) => standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid)))
    .map((standby) => standby.workerId);
  const freed = freedStandbys(machine, leaving, gpuUuids, workerId);
  if (!freed) return undefined;
  const { evicted, offloaded, waitMs } = freed;
  const option: RestoreOption = {
    workerId,
    machineId: machine.id,
    gpuUuids: [...gpuUuids],
    instanceId: '',
    evicted,
    offloaded,
    moves: leaving.length,
    expectedMs: waitMs + restoreMs,
  };
  return option;
}

/** Returns the machines with the running workers that may be offloaded marked as such. */
export function withMovable(
  machines: readonly PlacementMachine[],
  workers: readonly MovableWorker[],
): PlacementMachine[] {
  const byMachine = Map.groupBy(workers, ({ machineId }) => machineId);
  return machines.map((machine) => {
    const movable = (byMachine.get(machine.id) ?? []).filter(
      ({ id }) => machine.offload && !machine.standbys.some(({ workerId }) => workerId === id),
    );
    if (movable.length === 0) return machine;
    const uuids = new Set(movable.flatMap(({ gpuUuids }) => gpuUuids));
    const standbys = movable.map(({ id, gpuUuids, bytes, offloadMs, idleMs }) => ({
      workerId: id,
      gpuUuids,
      instanceId: '',
      frozenMs: idleMs,
      offloadBytes: bytes,
      offloadMs,
      running: true as const,
    }));
    return {
      ...machine,
      gpus: machine.gpus.map((gpu) => (uuids.has(gpu.uuid) ? { ...gpu, movable: true as const } : gpu)),
      standbys: [...machine.standbys, ...standbys],
    };
  });
}

/** Returns a machine as if running workers that may be offloaded were on standby, for when nothing else is free. */
export function asMovable(machine: PlacementMachine): PlacementMachine {
  if (!machine.gpus.some(({ movable }) => movable)) return machine;
  return {
    ...machine,
    gpus: machine.gpus.map((gpu) => (gpu.movable ? { ...gpu, used: false, standby: true } : gpu)),
  };
}

/** Returns a machine whose running workers keep their GPUs. */
export function withoutMoves(machine: PlacementMachine): PlacementMachine {
  return { ...machine, gpus: machine.gpus.map((gpu) => (gpu.movable ? { ...gpu, used: true, standby: false } : gpu)) };
}

/** Settings that decide whether workers of an endpoint may be offloaded for others. */
type MovableSettings = Pick<ScaleSettings, 'flashBoot' | 'standby' | 'workersMin'>;

/** Shortest time that a busy worker keeps its GPU against others, in milliseconds, and as a multiple of its moves. */
const TURN_MS = 5_000;
const TURN_FACTOR = 2;

/**
 * Returns the workers of an endpoint that may be offloaded for others: idle ones above workersMin at once, busy ones
 * after their turn, so that endpoints that always have jobs share a GPU. A busy one finishes its jobs first.
 */
export function movableWorkers(sample: ScaleSample, settings: MovableSettings): WorkerSample[] {
  const { queued, workers } = sample;
  const { flashBoot, standby, workersMin } = settings;
  if (!flashBoot || standby === 'GPU') return [];
  const present = workers.filter(({ desired }) => desired === 'RUN');
  const ready = present.filter(({ state, gpus, reachable }) => state === 'READY' && gpus > 0 && reachable);
  const isIdle = ({ held }: WorkerSample): boolean => held === 0 && queued === 0;
  const order = ready
    .filter((worker) => isIdle(worker) || worker.ageMs >= turnMs(worker))
    .toSorted((a, b) => Number(isIdle(b)) - Number(isIdle(a)) || b.idleMs - a.idleMs);
  return order.slice(0, Math.max(present.length - workersMin, 0));
}

/** Returns the idle workers that may be offloaded for a pod, which does not wait for jobs. */
export function idleMovableWorkers(sample: ScaleSample, settings: MovableSettings): WorkerSample[] {
  return sample.queued > 0 ? [] : movableWorkers(sample, settings).filter(({ held }) => held === 0);
}

/** Returns whether an endpoint has running workers that may be offloaded for others, now or after their jobs. */
export function mayMoveLater(
  { workers }: Pick<ScaleSample, 'workers'>,
  { flashBoot, standby }: Pick<ScaleSettings, 'flashBoot' | 'standby'>,
): boolean {
  return flashBoot && standby !== 'GPU' && workers.some(({ desired, gpus }) => desired === 'RUN' && gpus > 0);
}

function turnMs({ gpuBytes = 0 }: WorkerSample): number {
  return Math.max(TURN_MS, TURN_FACTOR * (expectedOffloadMs(gpuBytes) + expectedRestoreMs(gpuBytes)));
}
