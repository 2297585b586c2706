/**
 * Drains while all workers are busy: cordoned machines, lowered workersMax, and endpoints whose workers are all
 * replaced. Busy workers end after their jobs, and no attempt is lost.
 */
import { MACHINE_LOST_REASON } from '@slipway/core/domain/machines/worker';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { many, range } from '../helpers/many.ts';
import type { Fleet } from './fleet.ts';
import type { FleetCore, FleetEndpoint } from './fleet-options.ts';

/** Waits for a condition, with the caller's patience. */
export type Patient = (what: string, check: () => Promise<boolean>) => Promise<unknown>;

/** Results. */
export interface Drained {
  /** Faults, as sentences. */
  faults: string[];
  /** Jobs that ran meanwhile, workers that were drained while busy, and machines that were emptied. */
  jobs: number;
  told: number;
  machines: number;
}

/** One machine of so many is emptied. */
const MACHINES_EACH = 10;
/** Maximum number of endpoints that take part. */
const ENDPOINTS_MAX = 50;
const LEFT_AFTER = 2;

/** Begins and ends with an idle fleet. */
export async function checkDrains(fleet: Fleet, { sql }: FleetCore, patient: Patient): Promise<Drained> {
  const most = Math.max(...fleet.endpoints.map(({ workersMax }) => workersMax));
  const large = fleet.endpoints
    .filter(({ workersMax, image }) => workersMax === most && !image)
    .slice(0, ENDPOINTS_MAX);
  const [fewer, replaced] = [0, 1].map((part) => large.filter((_, n) => n % 3 === part)) as [
    FleetEndpoint[],
    FleetEndpoint[],
  ];
  const jobs = large.flatMap((endpoint) => range(endpoint.workersMax - 1).map(() => endpoint));
  const ids = await fleet.submit(jobs, { hold: true });
  const held = async (): Promise<number> =>
    (await sql`SELECT FROM job WHERE id = ANY(${ids}) AND state = 'IN_PROGRESS' AND attempt = 1`).length;
  await patient('all jobs to run', async () => (await held()) === ids.length);
  const emptied = fleet.machines.filter((machine, n) => n % MACHINES_EACH === 0 && machine.workers.size > 0);
  await many(emptied, (machine) => fleet.cordon(machine, true));
  const [{ at }] = await sql<[{ at: string }]>`SELECT now()::text AS at`;
  const finished = fleet.count('finished');
  await many(fewer, (endpoint) => fleet.scaleTo(endpoint, LEFT_AFTER));
  await many(replaced, (endpoint) => fleet.restart(endpoint));
  // Others come and go beside them.
  const beside = await fleet.submit(fleet.zipf(Math.round(ids.length / 2)));
  const told = await busyTold(
    fleet,
    sql,
    patient,
    [...fewer, ...replaced].map(({ id }) => id),
  );
  const faults = (await held()) === ids.length ? [] : ['a job was taken from a worker that was to finish it'];
  await patient('all jobs to end', async () => {
    fleet.release();
    return (
      (
        await sql`SELECT FROM job WHERE id = ANY(${[...ids, ...beside]}) AND state IN ('IN_QUEUE', 'IN_PROGRESS')
          LIMIT 1`
      ).length === 0
    );
  });
  const atEmptied = emptied.map(({ id }) => id);
  await patient(
    'the machines to be empty',
    async () =>
      (await sql`SELECT FROM worker WHERE machine_id = ANY(${atEmptied}) AND ended_at IS NULL AND desired <> 'FREEZE'`)
        .length === 0,
  );
  const later = await sql`SELECT id, machine_id FROM worker WHERE machine_id = ANY(${atEmptied})
      AND created_at > ${at}::timestamptz`;
  faults.push(
    ...later.map(({ id, machine_id }) => `worker ${id} was started on ${machine_id}, which takes nothing new`),
    ...(await lostBy(sql, ids)),
  );
  const done = fleet.count('finished') - finished;
  if (done < told) faults.push(`of ${told} busy workers that were to go ${done} finished their jobs`);
  for (const machine of emptied) await fleet.endAgent(machine, 0);
  await many(fewer, (endpoint) => fleet.scaleTo(endpoint, endpoint.workersMax));
  return { faults, jobs: ids.length + beside.length, told, machines: emptied.length };
}

/**
 * Waits until all draining workers of these endpoints know of it. Returns how many of them continue with their jobs.
 */
async function busyTold(
  { machines }: Fleet,
  sql: FleetCore['sql'],
  patient: Patient,
  endpointIds: readonly string[],
): Promise<number> {
  let told: { id: string; machineId: string }[] = [];
  const at = (worker: { id: string; machineId: string }) =>
    machines.find(({ id }) => id === worker.machineId)?.workers.get(worker.id);
  await patient('busy workers to be told to go', async () => {
    const staying = await sql`
      SELECT FROM worker w JOIN endpoint e ON e.id = w.endpoint_id WHERE e.id = ANY(${[...endpointIds]})
        AND w.ended_at IS NULL AND w.desired = 'RUN'
      GROUP BY e.id HAVING count(*) > e.workers_max OR bool_or(w.version <> e.version) LIMIT 1`;
    told = await sql`
      SELECT id, machine_id AS "machineId" FROM worker WHERE endpoint_id = ANY(${[...endpointIds]}) AND ended_at IS NULL
        AND desired = 'DRAIN'`;
    return (
      staying.length === 0 && told.length > 0 && told.every((worker) => at(worker)?.state === WorkerState.DRAINING)
    );
  });
  return told.filter((worker) => at(worker)!.held.size > 0).length;
}

/** Lost attempts, except by machines with an expired lease, and jobs that did not end at their first attempt. */
async function lostBy(sql: FleetCore['sql'], ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string; state: string; attempt: number; cause: string | null; reason: string | null }[]>`
    SELECT j.id, j.state, j.attempt, l.cause, w.reason FROM job j LEFT JOIN lost_attempt l
      ON l.endpoint_id = j.endpoint_id AND l.job_id = j.id
      LEFT JOIN worker w ON w.id = l.worker_id
    WHERE j.id = ANY(${[...ids]}) AND (j.state <> 'COMPLETED' OR j.attempt > 1)`;
  return rows.flatMap(({ id, state, attempt, cause, reason }) =>
    reason === MACHINE_LOST_REASON
      ? []
      : [`job ${id} is ${state} after ${attempt} attempts: ${cause ?? 'none was lost'}`],
  );
}
