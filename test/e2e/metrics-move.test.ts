// test: postgres, 20 s
/** Metrics of late, lost and restarted things: each case is caused on real parts, and is counted under its own name. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { Links } from '../helpers/net/links.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const LISTEN = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' };
/** An output that no buffer between takes. */
const LENGTH = 18_000_000;

const links = await Links.start(t);
const system = await startSystem(t, { coreEnv: LISTEN, facadeEnv: LISTEN, transportOf: (part) => links.of(part) });
const command = jsHandler('all.js');
const { path, open } = await scratch(t);
const ofCore = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  valueOf(await readMetrics(system.metrics.core), name, labels);
const ofFacade = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
  valueOf(await readMetrics(system.metrics.facade), name, labels);
/** Waits until an endpoint had a start for this cause, the one of so many in all. */
const startedOnce = async (endpoint: string, cause: string, inAll: number): Promise<void> => {
  const count = (labels: Record<string, string>): Promise<number> =>
    ofCore('slipway_core_cold_starts_total', { endpoint, ...labels });
  await waitFor(`a start for ${cause}`, async () => (await count({ cause })) > 0);
  const [found, all] = [await count({ cause }), await count({})];
  if (found !== 1 || all !== inAll) throw new Error(`${found} for ${cause}, ${all} in all`);
};

t.test('a replacement of a crashed worker', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  await startedOnce(jobs.id, 'from_zero', 1);
  t.match(await jobs.settled(await jobs.run({ mode: 'exit', once: path('crashed') }), 60_000), {
    output: { survived: true },
  });
  await startedOnce(jobs.id, 'crash', 2);
  await system.endWorkers(jobs.id);
});

t.test('a worker of a new version, beside a busy one of the old', async (_t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 2 }));
  const id = await jobs.run({ mode: 'until', file: path('released') });
  await jobs.reached(id, 'IN_PROGRESS');
  await call(system.clients.endpoints, 'restartEndpoint', { id: jobs.id }, system.key);
  await startedOnce(jobs.id, 'release', 2);
  open('released');
  await jobs.settled(id);
  await system.endWorkers(jobs.id);
});

t.test(
  'a frozen worker that resumes',
  { skip: process.platform === 'linux' ? false : 'freezes by signals' },
  async (t) => {
    const fields = { flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1 };
    const jobs = endpointJobs(system, await system.createEndpoint({ command, fields, ready: 0, workersMax: 1 }));
    await jobs.runSync({});
    await waitFor(
      'it to be frozen',
      async () => ((await jobs.health()) as { workers: Record<string, number> }).workers.standby === 1,
    );
    await startedOnce(jobs.id, 'from_zero', 1);
    const before = await ofCore('slipway_core_cold_start_seconds_count');
    await jobs.runSync({});
    await startedOnce(jobs.id, 'resume', 2);
    t.equal(await ofCore('slipway_core_cold_start_seconds_count'), before, 'which is in no histogram');
    await system.endWorkers(jobs.id);
  },
);

t.test('a request that waits for a load-balancing worker', async (t) => {
  const id = await lbEndpoint(system, { workersMax: 0 });
  const held = (count: number) =>
    waitFor(`${count} held`, async () => (await ofFacade('slipway_facade_requests_queued')) === count);
  await held(0);
  const leaving = new AbortController();
  const left = t.rejects(
    fetch(`${system.url}/v2/${id}/x`, { headers: { authorization: `Bearer ${system.key}` }, signal: leaving.signal }),
  );
  await held(1);
  leaving.abort();
  await left;
  await held(0);
});

t.test('a response that its client does not read', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const { id } = await jobs.runSync({ mode: 'big', length: LENGTH });
  const inMemory = () => ofFacade('slipway_facade_memory_bytes', { budget: 'responses' });
  await waitFor('its first answer to be gone', async () => (await inMemory()) === 0);
  const asked = httpRequest(`${system.url}/v2/${jobs.id}/status/${id}`, {
    headers: { authorization: `Bearer ${system.key}` },
    agent: false,
  });
  asked.on('error', () => undefined).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  t.ok((await inMemory()) >= LENGTH);
  t.ok((await inMemory()) < (await ofFacade('slipway_facade_memory_limit_bytes', { budget: 'responses' })));
  asked.destroy();
  await waitFor('it to be gone', async () => (await inMemory()) === 0);
  await system.endWorkers(jobs.id);
});

t.test('a disconnected agent: its attempt is lost, and its later reports are stale', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  t.same(
    [await ofCore('slipway_core_attempts_rescued_total'), await ofCore('slipway_core_outcomes_stale_total')],
    [0, 0],
  );
  const id = await jobs.run({ mode: 'until', file: path('after') });
  await jobs.reached(id, 'IN_PROGRESS');
  links.cutOff('agent 1');
  await waitFor(
    'its attempt to be taken back',
    async () => (await ofCore('slipway_core_attempts_rescued_total')) === 1,
  );
  t.equal(
    await ofCore('slipway_core_outcomes_total', { endpoint: jobs.id, state: 'IN_QUEUE' }),
    1,
    'its job is in the queue again',
  );
  links.letBack('agent 1');
  await waitFor('its own word', async () => (await ofCore('slipway_core_outcomes_stale_total')) === 1, 60_000);
  open('after');
  t.match(await jobs.settled(id, 60_000), { status: 'COMPLETED' });
  t.equal(await ofCore('slipway_core_attempts_rescued_total'), 1);
});
