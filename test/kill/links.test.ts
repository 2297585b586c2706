// test: postgres, 10 s
/**
 * Single connections between facade, replicas and agent, held and cut while all others work: what was acknowledged is
 * not lost and happens once, streams go on where they were. Several of them lead to one address, and replicas find each
 * other by theirs: no proxy before an address could part them.
 */

import { MachineServiceClient } from '@slipway/proto/gen/slipway/v1/machine_service';
import t from 'tap';
import { readEvents } from '../helpers/calls/sse.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { Link, Saying } from '../helpers/net/links.ts';
import { Links } from '../helpers/net/links.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Over 256 KiB a payload has a connection of its own. */
const LARGE = 1_000_000;
const ROUNDS = 30;

const files = await scratch(t);
const links = await Links.start(t);
const system = await startSystem(t, { cores: 2, transportOf: (part) => links.of(part) });
const command = jsHandler('all.js');
const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 3 }, workersMax: 3 }));
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));

/** Opened first, one to each replica; single calls to the same service come later. */
const pipelines = links.open('facade', 'JobService').slice(0, 2);
/** Returns the link of the session. It is opened first, the one for large payloads when it is needed. */
const session = (): Promise<Link> => waitFor('a session', () => links.open('agent 1', 'AgentService')[0]);
/** Asks core past the facade. */
const queued = async (): Promise<number> =>
  (await call(system.clients.jobs, 'getHealth', { endpointId: parked.id }, system.key)).jobs!.inQueue;

t.test('a job that core stored, but whose reply the facade lost, is answered with its id', async (t) => {
  const first = await parked.run({});
  for (const link of pipelines) link.hold(['back']);
  const answers = Promise.all(Array.from({ length: 20 }, (_, i) => parked.run({ i })));
  await waitFor('core to have all of them', async () => (await queued()) === 21);
  for (const link of pipelines) link.cut();
  const ids = await answers;
  t.equal(new Set([first, ...ids]).size, 21);
  t.equal(await queued(), 21, 'sent again they are the same jobs');
  for (const [i, id] of ids.entries()) t.match(await parked.look(id), { id, status: 'IN_QUEUE' }, `job ${i}`);
});

t.test(
  'an outcome that core stored, but whose acknowledgement the agent lost, stays, and no job runs twice',
  async (t) => {
    const [note, file] = [files.path('ran'), files.path('gate')];
    const id = await jobs.run({ mode: 'until', file, note });
    await files.noted('ran');
    const link = await session();
    link.hold(['back']);
    files.open('gate');
    const done = await jobs.reached(id, 'COMPLETED');
    link.cut();
    t.match(
      await jobs.runSync({ mode: 'echo', next: true }),
      { status: 'COMPLETED', output: { next: true } },
      'a new session takes jobs',
    );
    t.not(await session(), link);
    t.same(await jobs.look(id), done);
    t.equal(files.lines('ran').length, 1);
    t.equal((await jobs.health()).jobs.retried, 0);
  },
);

t.test('a stream survives lost connections of its session and its reader: each value once, in order', async (t) => {
  files.makeFolder('values');
  const values = ['a', 'b', 'c', 'd', 'e', 'f'];
  const id = await jobs.run({ mode: 'stream', values, gate: files.path('values'), end: true });
  const pass = (which: number | 'end'): void => files.open(`values/${which}`);
  const feed = await readEvents(t, system, `${jobs.base}/stream/${id}`);
  const next = async (): Promise<unknown> => (JSON.parse((await feed.next())!.data) as { output: unknown }).output;
  pass(1);
  const seen = [await next()];
  const link = await session();
  link.hold();
  pass(2);
  pass(3);
  link.cut();
  seen.push(await next(), await next());
  for (const pipeline of pipelines) pipeline.hold(['back']);
  pass(4);
  pass(5);
  for (const pipeline of pipelines) pipeline.cut();
  seen.push(await next(), await next());
  pass(6);
  seen.push(await next());
  pass('end');
  t.same(seen, values);
  t.same((await jobs.drain(id)).outputs, values);
});

t.test('a stuck large payload delays neither heartbeats nor small jobs', async (t) => {
  t.match(await jobs.runSync({ mode: 'size', pad: 'x'.repeat(LARGE) }), { output: { size: LARGE } });
  const own = await session();
  const side = links.open('agent 1', 'AgentService').find((link) => link !== own)!;
  side.hold();
  const large = await jobs.run({ mode: 'size', pad: 'y'.repeat(LARGE) });
  await jobs.reached(large, 'IN_PROGRESS');
  for (let i = 0; i < 20; i += 1)
    t.match(await jobs.runSync({ mode: 'echo', i }), { status: 'COMPLETED', output: { i } });
  t.match(await jobs.look(large), { status: 'IN_PROGRESS' });
  side.cut();
  t.match(await jobs.settled(large), { status: 'COMPLETED', output: { size: LARGE } });
  t.equal((await jobs.health()).jobs.retried, 0);
  t.equal(await session(), own, 'the session never ended');
});

t.test('a partly sent outcome is sent again and is never recorded in part', async (t) => {
  const own = await session();
  const side = links.open('agent 1', 'AgentService').find((link) => link !== own)!;
  // Pieces are of 256 KiB: within each of them, and where one ends.
  for (const bytes of [100_000, 270_000, 400_000, 530_000, 700_000, 790_000]) {
    side.cutAfter(bytes);
    const { status, output, error } = await jobs.settled(await jobs.run({ mode: 'big', length: LARGE }));
    t.same(
      { status, length: (output as string | undefined)?.length, error },
      { status: 'COMPLETED', length: LARGE, error: undefined },
      `after ${bytes} bytes`,
    );
  }
});

t.test('a replica asks the replica that holds the machine over a connection of its own', async (t) => {
  const client = links.of('test').openClient(MachineServiceClient, system.cores[1]!.address);
  t.teardown(() => client.close());
  const { workers } = await call(client, 'listWorkers', { endpointId: jobs.id }, system.key);
  const { log } = await call(client, 'getWorkerLog', { workerId: workers[0]!.id, tailBytes: 1_000 }, system.key);
  t.type(log, Buffer);
  t.same(
    links.all.filter(({ from }) => from === 'core 2').map(({ service, address }) => [service, address]),
    [['MachineService', system.cores[0]!.address]],
  );
});

t.test(`${ROUNDS} links held and cut at random: every acknowledged job completes`, async (t) => {
  const random = seededRandom();
  const sayings: readonly (readonly Saying[])[] = [['there'], ['back'], ['there', 'back']];
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const open = await waitFor('open links', () => [...pipelines, ...links.open('agent 1', 'AgentService')]);
    const link = random.one(open);
    link.hold(random.one(sayings));
    const asked = Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        jobs.run({ mode: 'echo', round, i, pad: 'z'.repeat(random.below(3) === 0 ? LARGE / 2 : 10) }),
      ),
    );
    // Core goes on meanwhile, for as long as so many calls past the link take.
    for (let calls = random.below(20); calls > 0; calls -= 1) await queued();
    if (random.below(2) === 0) link.resume();
    else link.cut();
    acknowledged.push(...(await asked));
  }
  for (const id of acknowledged) t.match(await jobs.settled(id), { status: 'COMPLETED', error: undefined });
  t.equal(new Set(acknowledged).size, ROUNDS * 4);
});
