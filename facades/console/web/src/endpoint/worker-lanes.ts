/**
 * Which worker stands in which lane of the time line: each set of GPUs of a machine has one, and so has each place
 * without a GPU.
 */
import type { StretchView, WorkerView } from '../../../views.ts';

/** Workers that followed one another in the same place, the first first. */
export interface Lane {
  name: string;
  workers: readonly WorkerView[];
}

/** The lanes of a machine. */
export interface MachineLanes {
  machineId: string;
  lanes: readonly Lane[];
}

/** A part of a bar. */
export interface Phase {
  kind: 'ran' | 'starting' | 'busy' | 'standby' | 'crashed';
  fromMs: number;
  toMs: number;
}

/** A uuid is long, and its last characters tell GPUs of a machine apart. */
const GPU_NAME_CHARACTERS = 6;

/** Lanes of all workers, by machine. */
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
    // Frozen workers hand their GPU on, so one may come before the other has ended.
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

/** What a worker was at, in the order in which it is drawn. */
export function phasesOf(worker: WorkerView, nowMs: number): Phase[] {
  const { createdMs, readyMs, busy, frozen, state } = worker;
  const toMs = Math.min(endOf(worker), nowMs);
  const startedMs = readyMs === 0 ? toMs : readyMs;
  const stretch =
    (kind: Phase['kind']) =>
    ([from, to]: StretchView): Phase => ({ kind, fromMs: from, toMs: to === 0 ? toMs : Math.min(to, toMs) });
  return [
    { kind: 'ran', fromMs: startedMs, toMs },
    { kind: 'starting', fromMs: createdMs, toMs: startedMs },
    ...busy.map(stretch('busy')),
    ...frozen.map(stretch('standby')),
    ...(state === 'UNHEALTHY' ? [{ kind: 'crashed', fromMs: toMs, toMs } as const] : []),
  ];
}

/** How long it was in one kind of phase since a moment. */
export function timeIn(kind: Phase['kind'], phases: readonly Phase[], sinceMs: number): number {
  const those = phases.filter((phase) => phase.kind === kind);
  return those.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, sinceMs)), 0);
}
