// test: postgres, 10 s
/**
 * Two cores on one database, without a leader: what is done through one takes effect at the other, at once and not at
 * the next slow look.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import { Api, KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { JobState, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { isAlive, scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** On this clock, periods in which cores poll (a second to two) never end during the test. */
const coreClock: Clock = {
  ...systemClock,
  after: (ms, fn) => systemClock.after(ms >= 900 && ms <= 2_200 ? 120_000 : ms, fn),
};

const system = await startSystem(t, { cores: 2, agents: 1, agentEnv: { SLIPWAY_STOP_GRACE_MS: '300' }, coreClock });
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
/** The agent's session, and so all workers, are at the first core. */
const endpointId = await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 });
const jobs = endpointJobs(system, endpointId);
const far = grpcClients(system.cores[1]!.address);
t.teardown(() => far.close());

/** Submits through the core that has no worker, unless another is named. */
async function submit(input: unknown, kind: SubmitKind = SubmitKind.ASYNC, core = far): Promise<string> {
  const request = SubmitJobRequest.fromPartial({
    endpointId,
    kind,
    input: Buffer.from(JSON.stringify(input)),
    waitMs: 60_000,
  });
  return (await call(core.jobs, 'submitJob', request, system.key)).job!.id;
}

t.test('a job submitted at one core and run by a worker of the other is answered without a poll', async (t) => {
  for (let times = 0; times < 5; times += 1) {
    const jobId = await submit({ mode: 'value', value: 7 }, SubmitKind.SYNC);
    const { job } = await call(far.jobs, 'waitJob', { endpointId, jobId, waitMs: 30_000 }, system.key);
    t.equal(job!.state, JobState.COMPLETED);
    t.equal(Buffer.from(job!.output!).toString(), '7');
  }
});

/**
 * Runs one job through the facade. Returns whether the core that received it assigned it to a worker in the same
 * statement.
 */
async function takenAtOnce(of: EndpointJobs, name: string): Promise<boolean> {
  const jobId = await of.run({ mode: 'until', file: files.path(name) });
  await of.reached(jobId, 'IN_PROGRESS');
  const [row] = await rows.sql<
    { at_once: boolean }[]
  >`SELECT started_at = submitted_at AS at_once FROM job WHERE id = ${jobId}`;
  files.open(name);
  await of.reached(jobId, 'COMPLETED');
  return row!.at_once;
}

t.test('the facade submits to the core with a free worker: few jobs wait for a claim by the other core', async (t) => {
  let atOnce = 0;
  const startedMs = performance.now();
  for (let n = 0; n < 20; n += 1) if (await takenAtOnce(jobs, `free-${n}`)) atOnce += 1;
  // The replica without a free worker is tried again once a second, so more often on a busy machine.
  // submission-affinity.test.ts tests this under a manual clock.
  const waitMost = 3 + Math.ceil((performance.now() - startedMs) / 1_000);
  t.ok(20 - atOnce <= waitMost, `${atOnce} of 20, and ${waitMost} may wait; in turn it would be 10`);
});

t.test('a chunk wakes a reader at the other core', async (t) => {
  files.makeFolder('gate');
  const jobId = await submit({ mode: 'stream', values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], gate: files.path('gate') });
  await jobs.reached(jobId, 'IN_PROGRESS');
  for (let number = 1; number <= 5; number += 1) {
    const reading = call(
      far.jobs,
      'readChunks',
      { endpointId, jobId, waitMs: 30_000, limit: 100, cursor: undefined },
      system.key,
    );
    files.open(`gate/${number}`);
    t.same(
      (await reading).chunks.map(({ output }) => JSON.parse(Buffer.from(output).toString())),
      [number],
    );
  }
  for (let number = 6; number <= 10; number += 1) files.open(`gate/${number}`);
  await jobs.reached(jobId, 'COMPLETED');
});

t.test('cancel at one core stops the worker of the other', async (t) => {
  const jobId = await submit({ mode: 'block', note: files.path('blocked') });
  const pid = Number(await files.noted('blocked'));
  const waiting = call(system.clients.jobs, 'waitJob', { endpointId, jobId, waitMs: 30_000 }, system.key);
  const { job } = await call(far.jobs, 'cancelJob', { endpointId, jobId }, system.key);
  t.equal(job!.state, JobState.CANCELLED);
  t.equal((await waiting).job!.state, JobState.CANCELLED, 'who waits at the other core is woken');
  await waitFor('the worker to be ended', () => !isAlive(pid), 15_000);
});

t.test('retry and purge at one core act on jobs of the other', async (t) => {
  const failed = await submit({ mode: 'fail-then', file: files.path('mended'), value: 1 });
  await jobs.reached(failed, 'FAILED');
  files.open('mended');
  t.equal((await call(far.jobs, 'retryJob', { endpointId, jobId: failed }, system.key)).job!.state, JobState.IN_QUEUE);
  await jobs.reached(failed, 'COMPLETED', 20_000);
  const parked = await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 });
  const queued = await endpointJobs(system, parked).run({});
  t.equal((await call(far.jobs, 'purgeQueue', { endpointId: parked }, system.key)).removed, 1);
  t.equal((await endpointJobs(system, parked).status(queued)).status, 404);
});

t.test('a job is claimed once by either core', async (t) => {
  const agent = await system.startAgent(system.cores[1]!.address);
  t.ok(agent);
  const both = await system.createEndpoint({ command, fields: { workersMin: 8 }, workersMax: 8 });
  const shared = endpointJobs(system, both);
  await Promise.all(
    Array.from({ length: 200 }, (_, number) => shared.run({ mode: 'echo', number, note: files.path('claims') })),
  );
  await waitFor('all to be completed', async () => (await shared.health()).jobs.completed === 200, 30_000);
  t.equal(files.lines('claims').length, 200, 'each ran once');
  t.equal((await rows.sql`SELECT 1 FROM job WHERE endpoint_id = ${both} AND attempt <> 1`).length, 0);
  const machines = async (): Promise<number> =>
    (await rows.sql`SELECT DISTINCT machine_id FROM job WHERE endpoint_id = ${both} AND position > ${last!.position}`)
      .length;
  const [last] = await rows.sql<
    { position: number }[]
  >`SELECT max(position)::int AS position FROM job WHERE endpoint_id = ${both}`;
  let n = 0;
  await waitFor(
    'the machines of both cores to be given jobs at once',
    async () => (await takenAtOnce(shared, `both-${(n += 1)}`)) && (await machines()) === 2,
  );
});

t.test('one Idempotency-Key makes one job, through whichever core', async (t) => {
  const parked = await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 });
  const request = SubmitJobRequest.fromPartial({
    endpointId: parked,
    kind: SubmitKind.ASYNC,
    input: Buffer.from('{}'),
    idempotencyKey: 'once',
  });
  const both = [system.clients.jobs, far.jobs];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => call(both[n % 2]!, 'submitJob', request, system.key)),
  );
  t.equal(new Set(answers.map(({ job }) => job!.id)).size, 1);
  t.equal(await rows.count(parked), 1);
});

t.test('a key revoked at one core stops at the other', async (_t) => {
  const request = {
    name: 'gone soon',
    scope: KeyScope.ALL,
    endpointIds: [],
    accountId: system.accountId,
    permissions: undefined,
  };
  const { key, secret } = await call(system.clients.keys, 'createKey', request, system.rootKey);
  await call(far.access, 'checkAccess', { endpointId, write: true, api: Api.JOBS }, secret);
  await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
  await waitFor('the key to stop', () =>
    call(far.access, 'checkAccess', { endpointId, write: true, api: Api.JOBS }, secret).then(
      () => false,
      () => true,
    ),
  );
});

t.test('when a core stops, the other continues with its endpoints', async (t) => {
  const queued = await endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
  ).run({});
  await system.cores[1]!.stop();
  t.equal((await rows.job(queued))!.state, 'IN_QUEUE');
  const answer = await waitFor('the public API to answer through the core that is left', async () => {
    const tried = await jobs.call('POST', '/runsync', { input: { mode: 'value', value: 'still here' } });
    return tried.status === 200 ? tried : undefined;
  });
  t.match(answer.json, { status: 'COMPLETED', output: 'still here' });
});
