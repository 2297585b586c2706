/**
 * How soon decisions follow conditions other than a first job: a wait that is too long, jobs for one more worker,
 * idleness, the end of a back-off after a crash, a freed GPU. Each with endpoints of its own on scripted machines, one
 * after the other, by the database's clock.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Endpoint, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type postgres from 'postgres';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { ScriptedAgent } from '../helpers/grpc/scripted-agent.ts';
import { range } from '../helpers/many.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import type { Fleet } from './fleet.ts';
import type { FleetAccount, FleetEndpoint } from './fleet-options.ts';
import type { MeasuredCore } from './measured-core.ts';

/** Endpoints per condition. */
const EACH = 40;
/** Milliseconds between two of them, so that they hit every moment of a period. */
const APART_MS = 70;
const SECONDS = 2;
const GPU = 'NVIDIA A100 80GB PCIe';
/** Timeout for a core that misses its bounds. */
const WAIT_MS_MAX = 60_000;

/** Results of each endpoint, in milliseconds. */
type Times = { ms: number }[];

/** Context of a condition. */
interface Scene {
  sql: postgres.Sql;
  fleet: Fleet;
  owner: FleetAccount;
  /** Its endpoints. */
  of(fields: Partial<Endpoint>): Promise<FleetEndpoint[]>;
  update(endpoint: FleetEndpoint, fields: Partial<Endpoint>): Promise<unknown>;
  agent: ScriptedAgent;
  /** Workers that these endpoints have had in total. */
  started(endpoints: readonly FleetEndpoint[], count: number): Promise<unknown>;
}

const CONDITIONS: readonly [what: string, measure: (scene: Scene) => Promise<Times>][] = [
  ['a wait of 2 s', waits],
  ['a job for one more worker', counts],
  ['2 s of idleness', idles],
  ['the end of a pause after a crash', crashes],
  ['a GPU that comes free', frees],
];

/** Measures each condition. Returns one line per condition. */
export async function measureConditions({ replicas, clients, sql }: MeasuredCore, fleet: Fleet): Promise<string[]> {
  const lines: string[] = [];
  const addresses = replicas().map(({ core }) => core.ready.address!);
  const owner = await fleet.newAccount('conditions 1');
  for (const [n, [what, measure]] of CONDITIONS.entries()) {
    const place = `CONDITION-${n}`;
    const agent = new ScriptedAgent({
      address: addresses[n % addresses.length]!,
      agentKey: await fleet.newAgentKey(),
      machineId: `condition${n}00`,
      locations: [place],
      cpuSlots: EACH * 2,
      gpus: range(EACH).map((gpu) => ({ uuid: `GPU-c${n}-${gpu}`, name: GPU, memoryMib: 81_920, migProfile: '' })),
      onAssignment: () => undefined,
      startWorkers: measure !== crashes,
    });
    await agent.connect();
    try {
      const times = await measure({
        sql,
        fleet,
        owner,
        agent,
        of: (fields) =>
          Promise.all(
            range(EACH).map(() =>
              fleet.createEndpoint(owner, {
                workersMin: 1,
                workersMax: 2,
                locations: [place],
                computeType: 'CPU',
                idleTimeoutSeconds: SECONDS,
                ...fields,
              }),
            ),
          ),
        update: ({ id, key }, fields) =>
          call(
            clients.endpoints,
            'updateEndpoint',
            {
              endpoint: Endpoint.fromPartial({ ...fields, id }),
              updateMask: Object.keys(fields).map((name) =>
                name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
              ),
            },
            key,
          ),
        started: (endpoints, count) =>
          waitFor(
            `${count} workers`,
            async () =>
              (
                await sql`
                  SELECT FROM worker WHERE endpoint_id = ANY(${idsOf(endpoints)})
                  AND (state = 'READY' OR ended_at IS NOT NULL OR ${measure === crashes})`
              ).length >= count,
            WAIT_MS_MAX,
          ),
      });
      lines.push(`from ${what} to its decision: ${shares(times)}`);
    } finally {
      agent.drop();
    }
  }
  return lines;
}

async function waits({ sql, fleet, of, started }: Scene): Promise<Times> {
  const endpoints = await of({ scalerType: ScalerType.QUEUE_DELAY, scalerValue: SECONDS });
  await started(endpoints, EACH);
  await apart(endpoints, (endpoint) => fleet.submit([endpoint, endpoint]));
  await started(endpoints, EACH * 2);
  return sql<Times>`
    SELECT extract(epoch
      FROM second.created_at - greatest(first.desired_at, j.submitted_at) - ${SECONDS}::int * interval '1 s')::float8 *
        1000 AS ms
    FROM worker first JOIN worker second ON second.endpoint_id = first.endpoint_id
      AND second.created_at > first.created_at
      JOIN (SELECT endpoint_id, max(submitted_at) AS submitted_at FROM job GROUP BY 1) j
        ON j.endpoint_id = first.endpoint_id
    WHERE first.endpoint_id = ANY(${idsOf(endpoints)})`;
}

async function counts({ sql, fleet, of, started }: Scene): Promise<Times> {
  const endpoints = await of({ scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1 });
  await started(endpoints, EACH);
  await apart(endpoints, async (endpoint) => {
    await fleet.submit([endpoint]);
    await fleet.submit([endpoint]);
  });
  await started(endpoints, EACH * 2);
  return sql<Times>`
    SELECT extract(epoch FROM w.at - j.at)::float8 * 1000 AS ms FROM (
      SELECT endpoint_id, max(created_at) AS at FROM worker WHERE endpoint_id = ANY(${idsOf(endpoints)}) GROUP BY 1) w
    JOIN (SELECT endpoint_id, max(submitted_at) AS at FROM job GROUP BY 1) j USING (endpoint_id)`;
}

async function idles({ sql, of, started, update }: Scene): Promise<Times> {
  const endpoints = await of({});
  await started(endpoints, EACH);
  await apart(endpoints, (endpoint) => update(endpoint, { workersMin: 0 }));
  await waitFor(
    'them to go',
    async () =>
      (await sql`SELECT FROM worker WHERE endpoint_id = ANY(${idsOf(endpoints)}) AND ended_at IS NULL`).length === 0,
    WAIT_MS_MAX,
  );
  // For endpoints that were idle long enough before, the change of settings is the condition.
  return sql<Times>`
    SELECT extract(epoch FROM w.desired_at - greatest(w.busy_at + ${SECONDS}::int * interval '1 s', a.at))::float8 *
      1000 AS ms FROM worker w
    JOIN (SELECT subject_id, max(at) AS at FROM audit_event GROUP BY 1) a ON a.subject_id = w.endpoint_id
    WHERE w.endpoint_id = ANY(${idsOf(endpoints)})`;
}

async function crashes({ sql, of, started, agent }: Scene): Promise<Times> {
  const endpoints = await of({ workersMax: 1 });
  await started(endpoints, EACH);
  await waitFor('its agent to know', () => agent.desired.length === EACH);
  await apart(agent.desired, async ({ workerId, endpointId }) => {
    agent.send({ workers: [{ workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom', exitCode: 1 }] });
  });
  await started(endpoints, EACH * 2);
  return sql<Times>`
    SELECT extract(epoch FROM second.created_at - first.retry_at)::float8 * 1000 AS ms
    FROM worker first JOIN worker second ON second.endpoint_id = first.endpoint_id
      AND second.created_at > first.created_at
    WHERE first.endpoint_id = ANY(${idsOf(endpoints)})`;
}

async function frees({ sql, of, started, update }: Scene): Promise<Times> {
  const gpu = { computeType: 'GPU', gpuIds: [GPU], workersMax: 1 };
  const having = await of(gpu);
  await started(having, EACH);
  const waiting = await of(gpu);
  await waitFor(
    'them to be refused',
    async () =>
      (await sql`SELECT FROM scale_decision WHERE throttled = 1 AND endpoint_id = ANY(${idsOf(waiting)})`).length ===
      EACH,
    WAIT_MS_MAX,
  );
  await apart(having, (endpoint) => update(endpoint, { workersMin: 0, workersMax: 0 }));
  await started(waiting, EACH);
  // The waiting endpoint takes the freed GPU.
  return sql<Times>`
    SELECT extract(epoch FROM next.created_at - before.ended_at)::float8 * 1000 AS ms
    FROM worker next JOIN worker before ON before.gpu_uuids = next.gpu_uuids
      AND before.endpoint_id = ANY(${idsOf(having)})
    WHERE next.endpoint_id = ANY(${idsOf(waiting)})`;
}

async function apart<Item>(items: readonly Item[], what: (item: Item) => Promise<unknown>): Promise<void> {
  for (const item of items) {
    await what(item);
    await pause(APART_MS);
  }
}

function idsOf(endpoints: readonly FleetEndpoint[]): string[] {
  return endpoints.map(({ id }) => id);
}

function shares(times: Times): string {
  const sorted = times.map(({ ms }) => Math.round(ms)).toSorted((a, b) => a - b);
  const within = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1]!;
  return (
    `half within ${within(0.5)} ms, 95 of 100 within ${within(0.95)} ms, all ${sorted.length} within ` +
    `${within(1)} ms`
  );
}
