// test: postgres
/** The npm client `runpod-sdk`, unmodified, against a system (docs/reference/api.md#clients). */
import runpodSdk from 'runpod-sdk';
import type { Test } from 'tap';
import t from 'tap';
import { gateway } from '../helpers/grpc/gateway.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import type { System } from '../helpers/system/system.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

type Client = NonNullable<ReturnType<ReturnType<typeof runpodSdk>['endpoint']>>;

const clientOf = (url: string, key: string, endpointId: string): Client =>
  runpodSdk(key, { baseUrl: `${url}/v2` }).endpoint(endpointId)!;

t.test('runpod-sdk', async (t) => {
  const system = await startSystem(t);
  const all = await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 });
  const client = (endpointId: string, key = system.key): Client => clientOf(system.url, key, endpointId);

  await t.test('run and status', (t) => runAndStatus(t, client(all)));
  await t.test('runSync', (t) => runSync(t, system, all));
  await t.test('stream', (t) => stream(t, client(all)));
  await t.test('cancel, health and purge', (t) => queue(t, system, all, client(all)));
  await t.test('refusals', async (t) => {
    await t.rejects(client(all, 'wrong').run({ input: {} }), /401/, 'a wrong key');
    await t.rejects(client(all, 'wrong').health(), /401/);
    await t.rejects(client('nosuchendpoint').run({ input: {} }), /404/, 'an unknown endpoint');
    await t.rejects(client(all).status('nosuchjob'), /404/, 'an unknown job');
  });
});

async function runAndStatus(t: Test, client: Client): Promise<void> {
  const { id, status } = await client.run({ input: { mode: 'value', value: { answer: 42 } } });
  t.match(status, /IN_QUEUE|IN_PROGRESS/);
  const job = await client.statusSync(id, 20_000);
  t.match(job, { id, status: 'COMPLETED', output: { answer: 42 }, completed: true, succeeded: true });
  t.match(job, { delayTime: Number, executionTime: Number });
  t.match(await client.status(id), { id, status: 'COMPLETED', started: true });
  const policy = { executionTimeout: 10_000, lowPriority: true, ttl: 60_000 };
  const failed = await client.run({ input: { mode: 'throw', message: 'oh' }, policy });
  t.match(await client.statusSync(failed.id, 20_000), {
    status: 'FAILED',
    error: /oh/,
    completed: true,
    succeeded: false,
  });
}

async function runSync(t: Test, system: System, endpointId: string): Promise<void> {
  const watched = await gateway(t, system.url);
  const client = clientOf(watched.url, system.key, endpointId);
  const { path, open } = await scratch(t);
  const soon = await client.runSync({ input: { mode: 'value', value: 'soon' } });
  t.match(soon, { status: 'COMPLETED', output: 'soon', completed: true, succeeded: true });
  t.same(watched.paths.splice(0), [`/v2/${endpointId}/runsync?wait=90000`]);

  const late = client.runSync({ input: { mode: 'until', file: path('until') } }, 1_000);
  await waitFor('the client to go on with /status-sync', () =>
    watched.paths.some((asked) => asked.includes('/status-sync/')),
  );
  open('until');
  t.match(await late, { status: 'COMPLETED', output: { done: true }, succeeded: true });

  const failed = await client.runSync({ input: { mode: 'error', error: 'no' } });
  t.match(failed, { status: 'FAILED', error: 'no', completed: true, succeeded: false });
}

async function stream(t: Test, client: Client): Promise<void> {
  const values = ['a', { b: 1 }, null, 4];
  const { id } = await client.run({ input: { mode: 'stream', values } });
  const seen: unknown[] = [];
  for await (const chunk of client.stream(id)) seen.push(chunk);
  t.same(
    seen,
    values.map((output) => ({ output })),
  );
}

async function queue(t: Test, system: System, endpointId: string, client: Client): Promise<void> {
  const { path, open } = await scratch(t);
  const blocker = await client.run({ input: { mode: 'until', file: path('until') } });
  await endpointJobs(system, endpointId).reached(blocker.id, 'IN_PROGRESS');
  const queued = await Promise.all([1, 2, 3].map((number) => client.run({ input: { number } })));
  await endpointJobs(system, endpointId).counted({ inQueue: 3 });
  t.match(await client.health(), {
    jobs: { completed: Number, failed: Number, inProgress: 1, inQueue: 3, retried: 0 },
    workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0 },
  });
  t.match(await client.cancel(queued[0]!.id), { id: queued[0]!.id, status: 'CANCELLED' });
  t.same(await client.purgeQueue(), { removed: 2, status: 'completed' });
  t.match(await client.cancel(blocker.id), { id: blocker.id, status: 'CANCELLED' });
  open('until');
}
