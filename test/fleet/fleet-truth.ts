/** Checks explanations of waiting jobs against the true state of the machines. */

import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointExplanation, WorkerExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type postgres from 'postgres';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { many } from '../helpers/many.ts';
import type { Fleet } from './fleet.ts';
import { checkExplanation } from './fleet-checks.ts';
import type { FleetMachine } from './fleet-machine.ts';
import type { FleetCore, FleetEndpoint } from './fleet-options.ts';
import type { FleetWorker } from './fleet-worker.ts';

/** A waiting job. */
export interface WaitingJob {
  id: string;
  endpointId: string;
}

/** A worker's machine, and the worker while it exists. */
interface Seen {
  machine: FleetMachine | undefined;
  worker: Readonly<FleetWorker> | undefined;
}

/** Milliseconds for which core and machines may differ, as reports take a moment and all processes share a CPU. */
const LATE_MS_MAX = 60_000;
const AGAIN_MS = 300;
const LEFT_SHOWN_MAX = 20;
/** The state of a worker on its machine for each state in core. Unknown workers are accepted for a while. */
const TRUE_OF: Record<string, (seen: Seen) => boolean> = {
  STARTING: ({ worker }) => worker?.state === WorkerState.INITIALIZING,
  IDLE: ({ worker }) => worker?.state === WorkerState.READY && worker.held.size < worker.concurrency,
  BUSY: ({ worker }) => worker !== undefined && worker.held.size > 0,
  FROZEN: ({ worker }) => worker?.state === WorkerState.FROZEN,
  DRAINING: ({ worker }) => worker !== undefined && (worker.state !== WorkerState.READY || worker.held.size > 0),
  OUTDATED: ({ worker }) => worker !== undefined,
  CRASHED: ({ worker }) => !worker,
  AWAY: ({ machine }) => !machine?.connected,
};

/** Returns all waiting jobs. */
export async function waitingJobs({ sql }: FleetCore): Promise<WaitingJob[]> {
  return sql<
    WaitingJob[]
  >`SELECT id, endpoint_id AS "endpointId" FROM job WHERE state = 'IN_QUEUE' ORDER BY submitted_at, id`;
}

/** Explains each waiting job and returns their number. A claim that stays untrue is a fault of the fleet. */
export async function checkWaiting(fleet: Fleet, core: FleetCore, jobs: readonly WaitingJob[]): Promise<number> {
  const endpoints = new Map(fleet.endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const doubts = new Map<string, WaitingJob>();
  let explained = 0;
  await many(
    jobs.filter(({ endpointId }) => endpoints.has(endpointId)),
    async (job) => {
      const said = await explain(core, endpoints.get(job.endpointId)!, job);
      if (!said) return;
      explained += 1;
      fleet.faults.push(...checkExplanation(said));
      for (const doubt of untrue(fleet, endpoints.get(job.endpointId)!, said)) doubts.set(doubt, job);
    },
  );
  for (const end = Date.now() + LATE_MS_MAX; doubts.size > 0 && Date.now() < end; ) {
    await pause(AGAIN_MS);
    const still = new Set(
      (
        await many([...new Set(doubts.values())], async (job) => {
          const endpoint = endpoints.get(job.endpointId)!;
          const said = await explain(core, endpoint, job);
          return said ? untrue(fleet, endpoint, said) : [];
        })
      ).flat(),
    );
    for (const doubt of doubts.keys()) if (!still.has(doubt)) doubts.delete(doubt);
  }
  fleet.faults.push(
    ...[...doubts].map(([doubt, { id }]) => `job ${id} is told for ${LATE_MS_MAX} ms what is not so: ${doubt}`),
  );
  return explained;
}

/**
 * Returns the explanation of its endpoint, `undefined` if it no longer waits. Like any client, it waits after a rate
 * limit.
 */
async function explain(
  core: FleetCore,
  endpoint: FleetEndpoint,
  { id: jobId }: WaitingJob,
): Promise<EndpointExplanation | undefined> {
  const { id: endpointId, key } = endpoint;
  for (;;) {
    try {
      const { explanation } = await call(core.clients.jobs, 'explain', { endpointId, jobId }, key);
      return explanation!.queuePosition > 0 ? explanation!.endpoint : undefined;
    } catch (error) {
      if (!(error instanceof CoreError && error.reason === 'RATE_LIMITED')) throw error;
      await pause(AGAIN_MS);
    }
  }
}

/** Returns contradictions with the machines, as sentences. */
function untrue(
  fleet: Fleet,
  { gpuIds }: FleetEndpoint,
  { endpointId, summary, workers }: EndpointExplanation,
): string[] {
  const taken = Number(/(\d+) machines? ha(?:s|ve) too few of them free/.exec(summary)?.[1] ?? 0);
  const full = fleet.machines.filter((machine) => isFull(machine, gpuIds)).length;
  return [
    ...workers.flatMap((worker) => wrongOf(fleet, worker)),
    ...(taken > full ? [`more machines were said to have too few GPUs free for ${endpointId} than had`] : []),
  ];
}

function wrongOf({ machines }: Fleet, { id, state }: WorkerExplanation): string[] {
  const seen = seenOf(machines, id);
  return TRUE_OF[state]?.(seen) ? [] : [`worker ${id} was ${state} and its machine says: ${atMachine(seen)}`];
}

function seenOf(machines: readonly FleetMachine[], id: string): Seen {
  const machine = machines.find(({ workers }) => workers.has(id));
  return { machine, worker: machine?.workers.get(id) };
}

function atMachine({ worker }: Seen): string {
  return worker ? `${enumName(WorkerState, worker.state)} with ${worker.held.size} jobs` : 'not there';
}

/** Returns whether it has GPUs of these types, and none is free. */
function isFull({ gpus, workers }: FleetMachine, kinds: readonly string[]): boolean {
  const taken = new Set([...workers.values()].flatMap(({ gpuUuids }) => gpuUuids));
  const own = gpus.filter(({ name }) => kinds.includes(name));
  return own.length > 0 && own.every(({ uuid }) => taken.has(uuid));
}

/** Returns living workers as seen by core and by their machines, one per line, for a fleet that does not settle. */
export async function leftWorkers({ machines }: Fleet, sql: postgres.Sql): Promise<string> {
  const rows = await sql<{ id: string; text: string }[]>`
    SELECT w.id, concat_ws(' ', w.id, w.machine_id, w.endpoint_id, w.desired, w.state, w.reason, 'idle since',
      w.busy_at, 'target', d.target, d.reason) AS text
    FROM worker w LEFT JOIN scale_decision d USING (endpoint_id) WHERE w.ended_at IS NULL AND w.desired <> 'FREEZE'
      LIMIT ${LEFT_SHOWN_MAX}`;
  return [
    'workers that are left:',
    ...rows.map(({ id, text }) => `${text}; its machine: ${atMachine(seenOf(machines, id))}`),
  ].join('\n');
}
