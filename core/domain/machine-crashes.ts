/**
 * Machines on which workers of an endpoint crash. When a crashed worker's place is tried again its own series says (crashPauseSeconds); this says where:
 * not where one crashed until that one's pause is over, whichever place asks, and there only after all machines that did nothing wrong, for one bad
 * machine must not cost an endpoint every start. Where they crash on several machines and run on none, the machines differ in nothing. Pure.
 */
import type { WorkerSample } from './scaler.ts';

/** Crashes of an endpoint's present version on one machine, in a row: none that started there since has done a job. */
export interface MachineCrashes {
  machineId: string;
  /** Of the series that the latest is part of. */
  failures: number;
  /** Milliseconds until a worker may start there again; 0: it may. */
  retryMs: number;
  /** The latest that crashed; its reason and last lines are kept with it. */
  workerId: string;
  /** Null: a signal ended it, or it could not be started. */
  exitCode: number | null;
  /** GPUs that it had: of one machine it may be a single one that is bad, so the next worker there gets others while there are any. */
  gpuUuids?: readonly string[];
}

/** As placement sees them at a machine. */
export interface CrashesHere extends Omit<MachineCrashes, 'machineId'> {
  /** Every other machine that could take the worker comes first. */
  comesLast: boolean;
}

/** For how many hours after the latest crash a machine comes last. */
export const CRASHES_REMEMBERED_HOURS = 1;
/** Workers that crash on so many machines and run on none would crash anywhere; to move them on would only pull their image everywhere. */
const MACHINES_BLAMED_MAX = 2;

/** Machines with what crashed there of an endpoint. */
export function withCrashes<Machine extends { id: string }>(
  machines: readonly Machine[], crashes: readonly MachineCrashes[], runsSomewhere: boolean,
): (Machine & { crashes?: CrashesHere })[] {
  if (crashes.length === 0) return [...machines];
  const comesLast = runsSomewhere || crashes.length <= MACHINES_BLAMED_MAX;
  const byMachine = new Map(crashes.map(({ machineId, ...here }) => [machineId, { ...here, comesLast }]));
  return machines.map((machine) => {
    const here = byMachine.get(machine.id);
    return here ? { ...machine, crashes: here } : machine;
  });
}

/** GPUs of a machine, those last that the worker had which crashed there. */
export function blamedLast<Gpu extends { uuid: string }>(gpus: readonly Gpu[], crashes: CrashesHere | undefined): readonly Gpu[] {
  const blamed = crashes?.gpuUuids ?? [];
  return blamed.length === 0 ? gpus : gpus.toSorted((a, b) => Number(blamed.includes(a.uuid)) - Number(blamed.includes(b.uuid)));
}

/** Machines but for these: where an endpoint's workers crashed and none starts for now, it waits for no GPU. */
export function without<Machine extends { id: string }>(machines: Machine[], paused: readonly string[]): Machine[] {
  return paused.length === 0 ? machines : machines.filter(({ id }) => !paused.includes(id));
}

/** A worker of this version is up that came after no crash. */
export function runsSomewhere(workers: readonly Pick<WorkerSample, 'state' | 'version' | 'failures'>[], version: number): boolean {
  return workers.some((worker) => worker.version === version && worker.failures === 0 && (worker.state === 'READY' || worker.state === 'FROZEN'));
}

/** What crashed, for the operator: no line that a worker wrote, as this is logged. */
export function crashText({ failures, workerId, exitCode }: CrashesHere): string {
  const often = failures === 1 ? 'a worker of it crashed there' : `${failures} of its workers in a row crashed, the last one there`;
  return `${often} (${workerId}${exitCode === null ? '' : `, exit code ${exitCode}`})`;
}
