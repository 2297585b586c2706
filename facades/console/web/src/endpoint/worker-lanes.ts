/** Assigns workers to lanes of the time line: one lane for each set of GPUs of a machine, and one for each CPU slot. */
import type { StretchView, WorkerView } from '../../../views.ts';

/** Workers that ran one after the other in the same lane, oldest first. */
export interface Lane {
  name: string;
  workers: readonly WorkerView[];
}

/** The lanes of a machine. */
interface MachineLanes {
  machineId: string;
  lanes: readonly Lane[];
}

/** A segment of a bar. */
export interface Phase {
  kind: 'ran' | 'starting' | 'busy' | 'standby' | 'crashed';
  fromMs: number;
  toMs: number;
}

/** Characters of a GPU's UUID that are shown: the last ones differ between the GPUs of a machine. */
const GPU_NAME_CHARACTERS = 6;

/** Returns the lanes of all workers, by machine. */
export function lanesOf(workers: readonly WorkerView[]): MachineLanes[] {
  const machines = Map.groupBy(
    workers.toSorted((a, b) => a.createdMs - b.createdMs),
    ({ machineId }) => machineId,
  );
  return [...machines]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([machineId, ofMachine]) => ({ machineId, lanes: lanesOfMachine(ofMachine) }));
}

function lanesOfMachine(workers: readonly WorkerView[]): Lane[] {
  const lanesByGpus = new Map<string, WorkerView[][]>();
  for (const worker of workers) {
    const name = worker.gpus.map(gpuName).sort().join(', ');
    const lanes = lanesByGpus.get(name) ?? [];
    lanesByGpus.set(name, lanes);
    // A standby worker gives up its GPU, so the next one may start before it has ended.
    const free = lanes.find((lane) => endOf(lane.at(-1)!) <= worker.createdMs);
    if (free) free.push(worker);
    else lanes.push([worker]);
  }
  return [...lanesByGpus]
    .sort(([a], [b]) => a.localeCompare(b))
    .flatMap(([name, lanes]) =>
      lanes.map((ofLane, index) => ({
        name: name === '' ? `CPU slot ${index + 1}` : `GPU ${name}${index === 0 ? '' : `, ${index + 1}`}`,
        workers: ofLane,
      })),
    );
}

function gpuName(uuid: string): string {
  return uuid.length <= GPU_NAME_CHARACTERS + 2 ? uuid : `…${uuid.slice(-GPU_NAME_CHARACTERS)}`;
}

function endOf({ endedMs }: WorkerView): number {
  return endedMs === 0 ? Infinity : endedMs;
}

/** Returns the phases of a worker in drawing order. */
export function phasesOf(worker: WorkerView, nowMs: number): Phase[] {
  const { createdMs, readyMs, busy, frozen, state } = worker;
  const toMs = Math.min(endOf(worker), nowMs);
  const exitMs = exitOf(worker, nowMs);
  const startedMs = readyMs === 0 ? exitMs : readyMs;
  const stretch =
    (kind: Phase['kind']) =>
    ([from, to]: StretchView): Phase => ({ kind, fromMs: from, toMs: to === 0 ? exitMs : Math.min(to, exitMs) });
  return [
    { kind: 'ran', fromMs: startedMs, toMs: exitMs },
    { kind: 'starting', fromMs: createdMs, toMs: startedMs },
    ...busy.map(stretch('busy')),
    ...frozen.map(stretch('standby')),
    ...(state === 'UNHEALTHY' ? [{ kind: 'crashed', fromMs: exitMs, toMs } as const] : []),
  ];
}

/** Returns the time until which the process of a worker ran. A crashed worker is still listed for a while after it. */
export function exitOf(worker: WorkerView, nowMs: number): number {
  return Math.min(worker.crashedMs || endOf(worker), nowMs);
}

/** Returns the time in one kind of phase since `sinceMs`, in milliseconds. */
export function timeIn(kind: Phase['kind'], phases: readonly Phase[], sinceMs: number): number {
  const those = phases.filter((phase) => phase.kind === kind);
  return those.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, sinceMs)), 0);
}
