/** A fleet of up to 200 machines, 300 endpoints and 2,000 workers through bursts, faults, a flood and idleness, on two replicas of which one goes. */
import t from 'tap';
import { setTimeout as pause } from 'node:timers/promises';
import { startReplicas } from '../helpers/core-replicas.ts';
import { call } from '../helpers/grpc-clients.ts';
import { SEED } from '../helpers/seeded-random.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { Fleet, range } from './fleet.ts';
import type { FleetEndpoint } from './fleet.ts';
import { checkCauses } from './fleet-causes.ts';
import { checkEnd, checkExplanation, checkMoment, checkReplays } from './fleet-checks.ts';

t.setTimeout(280_000);

const core = await startReplicas(t, 2);
let replicas = core.replicas.slice(0, 2);
/** So many machines, and everything else with them. 200, with 300 endpoints and 2,000 workers, take ten times as long. */
const machines = Number(process.env.SLIPWAY_TEST_FLEET ?? 40);
const SIZE = { machines, endpoints: Math.round(machines * 1.5), workers: machines * 10 };
const parts = { addresses: () => replicas.map(({ address }) => address), clients: core.clients, rootKey: core.rootKey, sql: core.sql };
const fleet = new Fleet(parts, { seed: SEED, ...SIZE, accounts: 12 });
t.teardown(() => fleet.stop());
const began = Date.now();
const said = (text: string): void => { t.comment(`${((Date.now() - began) / 1_000).toFixed(1)} s: ${text}`); };
const TIME = { timeout: 120_000 };

const open = async (): Promise<number> => (await core.sql`SELECT count(*)::int AS n FROM job WHERE state IN ('IN_QUEUE', 'IN_PROGRESS')`)[0]!.n as number;
const workers = async (): Promise<number> => (await core.sql`SELECT count(*)::int AS n FROM worker WHERE ended_at IS NULL`)[0]!.n as number;
const explained = async ({ id: endpointId, key }: FleetEndpoint) => (await call(core.clients.endpoints, 'explain', { endpointId }, key)).explanation!;

/** Looks at everything until it is told to stop. */
async function watch(signal: AbortSignal): Promise<number> {
  let peak = 0;
  for (let n = 0; !signal.aborted; n += 1) {
    fleet.faults.push(...await checkMoment(core.sql));
    const waiting = await core.sql<{ endpoint_id: string }[]>`SELECT DISTINCT endpoint_id FROM job WHERE state = 'IN_QUEUE' LIMIT 50`;
    const one = fleet.endpoints.find(({ id }) => id === waiting[n % Math.max(waiting.length, 1)]?.endpoint_id);
    if (one) fleet.faults.push(...checkExplanation(await explained(one)));
    peak = Math.max(peak, await workers());
    await pause(200);
  }
  return peak;
}

await fleet.join();
await waitFor('all machines', async () => (await core.sql`SELECT FROM machine WHERE session_id IS NOT NULL`).length === SIZE.machines, TIME.timeout);
said(`${SIZE.machines} machines joined`);
await fleet.deploy();
said(`${SIZE.endpoints} endpoints deployed`);
const stopping = new AbortController();
const watching = watch(stopping.signal);

t.test('what waits is explained by its true cause', async (t) => {
  t.same(await checkCauses(fleet, parts, (what, check) => waitFor(what, check, 60_000)), []);
  said('causes are named');
});

t.test('a burst on all endpoints, Zipf and a flood of one account, while machines fail and a replica goes', async (t) => {
  const all = range(4).flatMap(() => fleet.endpoints);
  await fleet.submit([...all, ...fleet.zipf(SIZE.workers / 2), ...range(SIZE.workers / 5).map(() => fleet.endpoints[0]!)]);
  said(`all jobs submitted, ${await workers()} workers`);
  for (const n of range(12)) {
    const machine = fleet.random.one(fleet.machines);
    if (n % 3 === 0) machine.crash(500 + fleet.random.below(2_000));
    else machine.partition(n === 1 ? 12_000 : 500 + fleet.random.below(2_000));
    await pause(100);
  }
  const [gone, stays] = [replicas[1]!, replicas[0]!];
  replicas = [stays];
  const left = Date.now();
  await gone.stop();
  await waitFor('their machines to be at the other', () => fleet.machines.filter((machine) => machine.connected).length >= SIZE.machines, TIME.timeout);
  t.comment(`${Date.now() - left} ms until the machines of a replica were at another`);
  await waitFor('all jobs to end', async () => await open() === 0, TIME.timeout);
  said('all jobs have ended');
});

t.test('idle: to zero, and up again', async () => {
  await waitFor('zero', async () => await workers() === 0, TIME.timeout);
  said('no worker is left');
  await fleet.submit(fleet.zipf(200));
  await waitFor('all jobs to end', async () => await open() === 0, TIME.timeout);
  await waitFor('zero again', async () => await workers() === 0, TIME.timeout);
  said('and again');
});

t.test('at the end', async (t) => {
  stopping.abort();
  t.comment(`at most ${await watching} workers at once, ${fleet.machines.reduce((sum, { started }) => sum + started, 0)} in all`);
  t.same(await checkEnd(core.sql), [], 'nothing is left');
  t.equal(fleet.machines.reduce((sum, { running }) => sum + running, 0), 0, 'no process runs');
  const { decisions, faults } = await checkReplays(core.sql);
  t.ok(decisions > 300);
  t.same(faults, [], `${decisions} decisions are made again from their samples`);
  t.same(fleet.faults, [], 'at no time');
});
