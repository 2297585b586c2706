/** The health record of spec.md 2.7 with the six worker counts of compat.md 1.8: every counter moves when it must. */
import t from 'tap';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { scratch } from '../helpers/scratch.ts';
import { startSystem } from '../helpers/system.ts';
import { waitFor } from '../helpers/wait-for.ts';

const system = await startSystem(t);
const files = await scratch(t);
const command = jsHandler('all.js');
const NO_JOBS = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
const NO_WORKERS = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

t.test('a new endpoint without workers counts nothing', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 } }));
  t.same(await jobs.health(), { jobs: NO_JOBS, workers: NO_WORKERS });
});

t.test('an idle worker is idle and ready', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2 }));
  t.same((await jobs.health()).workers, { ...NO_WORKERS, idle: 2, ready: 2 });
});

t.test('jobs.inQueue, jobs.inProgress, jobs.completed, jobs.failed, workers.running', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
  const held = await jobs.run({ mode: 'until', file: files.path('go') });
  await jobs.reached(held, 'IN_PROGRESS');
  const failing = await jobs.run({ mode: 'throw', message: 'x' });
  const cancelled = await jobs.run({});
  const running = await jobs.health();
  t.same(running.jobs, { ...NO_JOBS, inProgress: 1, inQueue: 2 });
  t.same(running.workers, { ...NO_WORKERS, running: 1 }, 'a worker with a job is running and not idle');
  await jobs.call('POST', `/cancel/${cancelled}`);
  t.same((await jobs.health()).jobs, { ...NO_JOBS, inProgress: 1, inQueue: 1 }, 'a cancelled job is in no count');
  files.open('go');
  await jobs.reached(failing, 'FAILED');
  t.same((await jobs.health()).jobs, { ...NO_JOBS, completed: 1, failed: 1 });
  await waitFor('the worker to be idle again', async () => (await jobs.health()).workers.idle === 1);
  t.match(await jobs.reached(held, 'COMPLETED'), { output: { done: true } });
});

t.test('jobs.retried counts attempts that were lost and put back; the record says so too', async (t) => {
  const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1, retryLimit: 1 }));
  const id = await jobs.run({ mode: 'exit', code: 9, unless: files.path('mended') });
  await waitFor('the first attempt to be lost', async () => (await jobs.health()).jobs.retried === 1);
  files.open('mended');
  const record = await jobs.reached(id, 'COMPLETED', 20_000);
  t.match(record, { output: { survived: true }, retries: 1 });
  t.match((await jobs.health()).jobs, { retried: 1, completed: 1, failed: 0 });
});

t.test('workers.unhealthy counts workers that crash, jobs stay queued', async (t) => {
  const broken = [process.execPath, '-e', 'console.error("the weights are missing"); process.exit(7)'];
  const jobs = endpointJobs(system, await system.createEndpoint({ command: broken, workersMax: 1, ready: 0 }));
  const id = await jobs.run({});
  await waitFor('an unhealthy worker', async () => (await jobs.health()).workers.unhealthy === 1);
  t.match((await jobs.health()).workers, { idle: 0, ready: 0, running: 0 });
  t.match((await jobs.status(id)).json, { status: 'IN_QUEUE' });
});

t.test('workers.initializing counts workers that have not asked for work yet', async (t) => {
  const slow = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
  const jobs = endpointJobs(system, await system.createEndpoint({ command: slow, workersMax: 1, ready: 0 }));
  await waitFor('an initializing worker', async () => (await jobs.health()).workers.initializing === 1);
  t.match((await jobs.health()).workers, { idle: 0, ready: 0, running: 0, unhealthy: 0 });
});

t.test('workers.throttled counts workers that no machine has room for', async (t) => {
  const fields = { workersMin: 1, gpuIds: ['AMPERE_80'] };
  const jobs = endpointJobs(system, await system.createEndpoint({ command, fields, workersMax: 1, ready: 0 }));
  await waitFor('a throttled worker', async () => (await jobs.health()).workers.throttled === 1);
  t.match((await jobs.health()).workers, { idle: 0, ready: 0, running: 0, initializing: 0 });
});

t.test('unknown endpoint | 404', async (t) => {
  const answer = await system.request('GET', '/v2/aaaaaaaaaaaaaa/health');
  t.equal(answer.status, 404);
  t.match(answer.json, { code: 'endpoint_not_found' });
});
