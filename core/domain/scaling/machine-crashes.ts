/**
 * Machines on which workers of an endpoint crash. The restart back-off of a worker says when it is retried
 * (crashPauseSeconds); this says where. No worker of the endpoint starts on that machine until the back-off is over,
 * and afterwards only if no other machine can take it: one bad machine must not cost an endpoint every start. If
 * workers crash on several machines and run on none, the machines are not the cause, and this has no effect. Pure.
 */
import type { WorkerSample } from './scaler.ts';

/**
 * Consecutive crashes of an endpoint's current version on one machine. No worker that started there since has finished
 * a job.
 */
export interface MachineCrashes {
  machineId: string;
  /** Length of the series that the latest crash is part of. */
  failures: number;
  /** Milliseconds until a worker may start there again, 0 if it may now. */
  retryMs: number;
  /** The worker that crashed last. Its reason and last log lines are kept with it. */
  workerId: string;
  /** Null if a signal ended it, or if it could not be started. */
  exitCode: number | null;
  /** GPUs that it had. A single bad GPU may be the cause, so the next worker there gets others while any are free. */
  gpuUuids?: readonly string[];
}

/** Crashes as seen by placement on a machine. */
export interface LocalCrashes extends Omit<MachineCrashes, 'machineId'> {
  /** All other machines that could take the worker come first. */
  comesLast: boolean;
}

/** Hours after the latest crash for which a machine comes last. */
export const CRASHES_REMEMBERED_HOURS = 1;
/**
 * Workers that crash on more machines than this and run on none would crash anywhere. Moving them on would only pull
 * their image everywhere.
 */
const MACHINES_BLAMED_MAX = 2;

/** Returns the machines with the crashes of an endpoint. */
export function withCrashes<Machine extends { id: string }>(
  machines: readonly Machine[],
  crashes: readonly MachineCrashes[],
  runsSomewhere: boolean,
): (Machine & { crashes?: LocalCrashes })[] {
  if (crashes.length === 0) return [...machines];
  const comesLast = runsSomewhere || crashes.length <= MACHINES_BLAMED_MAX;
  const byMachine = new Map(crashes.map(({ machineId, ...here }) => [machineId, { ...here, comesLast }]));
  return machines.map((machine) => {
    const here = byMachine.get(machine.id);
    return here ? { ...machine, crashes: here } : machine;
  });
}

/** Returns the GPUs of a machine. GPUs of the crashed worker come last. */
export function blamedLast<Gpu extends { uuid: string }>(
  gpus: readonly Gpu[],
  crashes: LocalCrashes | undefined,
): readonly Gpu[] {
  const blamed = crashes?.gpuUuids ?? [];
  return blamed.length === 0
    ? gpus
    : gpus.toSorted((a, b) => Number(blamed.includes(a.uuid)) - Number(blamed.includes(b.uuid)));
}

/**
 * Returns the machines without the paused ones. An endpoint does not wait for GPUs of machines where its workers are
 * paused.
 */
export function without<Machine extends { id: string }>(machines: Machine[], paused: readonly string[]): Machine[] {
  return paused.length === 0 ? machines : machines.filter(({ id }) => !paused.includes(id));
}

/** Returns whether a worker of this version is up that did not follow a crash. */
export function runsSomewhere(
  workers: readonly Pick<WorkerSample, 'state' | 'version' | 'failures'>[],
  version: number,
): boolean {
  return workers.some(
    (worker) =>
      worker.version === version && worker.failures === 0 && (worker.state === 'READY' || worker.state === 'FROZEN'),
  );
}

/** Returns a description of the crashes for the operator. It contains no line that a worker wrote, as it is logged. */
export function crashText({ failures, workerId, exitCode }: LocalCrashes): string {
  const often =
    failures === 1 ? 'a worker of it crashed there' : `${failures} of its workers in a row crashed, the last one there`;
  return `${often} (${workerId}${exitCode === null ? '' : `, exit code ${exitCode}`})`;
}
