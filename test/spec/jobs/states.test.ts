// test: postgres, 10 s
/**
 * Every row of docs/reference/api.md#states: the states of a job and what moves it from one to the next. A test is
 * named after its row.
 */
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { isAlive, scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

// An unresponsive worker is killed this long after its stop: long enough to see that no caller waits for that.
const system = await startSystem(t, { agentEnv: { SLIPWAY_STOP_GRACE_MS: '1500' } });
const files = await scratch(t);
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
/** One worker, so that a second job has to wait. */
const single = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
/** No worker at all: everything stays in the queue. */
const parked = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }));
/** Workers that tests may ruin; a lost attempt fails its job at once. */
const fragile = endpointJobs(
  system,
  await system.createEndpoint({ command, fields: { workersMin: 2 }, workersMax: 2, retryLimit: 0 }),
);
/** Runs into its timeout by the clock, beside the other tests. */
const clocked = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 })).call('POST', '/runsync', {
  input: { mode: 'until', file: files.path('never') },
  policy: { executionTimeout: 5000 },
});
let names = 0;

/** Starts a job that runs until the test opens the file of that name. */
async function startHeld(jobs = single): Promise<{ id: string; pid: number; release: () => void }> {
  const name = `held-${(names += 1)}`;
  const id = await jobs.run({ mode: 'until', file: files.path(name), note: files.path(`${name}.note`) });
  const pid = Number(await files.noted(`${name}.note`));
  await jobs.reached(id, 'IN_PROGRESS');
  return { id, pid, release: () => files.open(name) };
}

t.test('(none) | POST /run | input accepted | IN_QUEUE', async (t) => {
  const answer = await parked.call('POST', '/run', { input: {} });
  t.equal(answer.status, 200);
  t.same(Object.keys(answer.json).sort(), ['id', 'status']);
  t.equal(answer.json.status, 'IN_QUEUE');
  t.match(answer.json.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}-u1$/);
  t.match((await parked.status(answer.json.id)).json, { id: answer.json.id, status: 'IN_QUEUE' });
});

t.test(
  '(none) | POST /runsync | input accepted | IN_QUEUE, then completes: the call waits and returns the full result',
  async (t) => {
    const answer = await single.call('POST', '/runsync', { input: { mode: 'echo', text: 'hello' } });
    t.equal(answer.status, 200);
    t.match(answer.json, {
      id: /^sync-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}-u1$/,
      status: 'COMPLETED',
      output: { mode: 'echo', text: 'hello' },
    });
    t.ok(Number.isInteger(answer.json.delayTime) && answer.json.delayTime >= 0, 'delayTime is whole milliseconds');
    t.ok(
      Number.isInteger(answer.json.executionTime) && answer.json.executionTime >= 0,
      'executionTime is whole milliseconds',
    );
  },
);

t.test('IN_QUEUE | worker becomes available | IN_PROGRESS: the handler processes the job', async (t) => {
  const first = await startHeld();
  const second = await single.run({ mode: 'until', file: files.path('second'), note: files.path('second.note') });
  t.match((await single.status(second)).json, { status: 'IN_QUEUE' });
  t.same(files.lines('second.note'), [], 'no handler has seen it');
  first.release();
  t.match(await single.reached(second, 'IN_PROGRESS'), { delayTime: Number, workerId: String });
  await files.noted('second.note');
  files.open('second');
  t.match(await single.reached(second, 'COMPLETED'), { output: { done: true } });
});

t.test('IN_PROGRESS | handler finishes | success | COMPLETED: output retained', async (t) => {
  const id = await single.run({ mode: 'value', value: [1, { a: null }] });
  t.match(await single.reached(id, 'COMPLETED'), {
    id,
    output: [1, { a: null }],
    delayTime: Number,
    executionTime: Number,
  });
  t.same((await single.status(id)).json.output, [1, { a: null }], 'reading does not use it up');
  await rows.elapseRetention(id);
  t.equal((await single.status(id)).status, 404, 'gone when its retention ends');
  await rows.removed(id);
});

t.test('IN_PROGRESS | handler or worker error | failure | FAILED', async (t) => {
  const thrown = await single.reached(await single.run({ mode: 'throw', message: 'no such colour' }), 'FAILED');
  t.match(thrown.error, /no such colour/, 'a handler that throws');
  t.equal(typeof thrown.executionTime, 'number');
  const returned = await single.reached(await single.run({ mode: 'error', error: 'bad prompt' }), 'FAILED');
  t.equal(returned.error, 'bad prompt', 'a handler that returns an error');
  t.notOk('output' in returned);
  const crashed = await fragile.reached(await fragile.run({ mode: 'exit', code: 3 }), 'FAILED');
  t.match(crashed.error, /3/, 'a worker that dies: the cause is told');
  t.type(crashed.error, 'string');
});

t.test('IN_PROGRESS | execution exceeds executionTimeout | TIMED_OUT', async (t) => {
  const real = single.run({ mode: 'echo' }); // a job that is quick enough is not touched
  const held = await startHeld(fragile);
  await rows.elapseExecution(held.id);
  const record = await fragile.reached(held.id, 'TIMED_OUT');
  t.match(record, { id: held.id, executionTime: Number, error: String });
  await waitFor('the attempt to be stopped', () => fragile.health().then(({ jobs }) => jobs.inProgress === 0));
  t.match(
    (await fragile.call('POST', '/runsync', { input: { mode: 'echo' } })).json,
    { status: 'COMPLETED' },
    'the worker or its successor goes on',
  );
  await single.reached(await real, 'COMPLETED');
});

t.test('IN_QUEUE | POST /cancel/{job_id} | job still queued | CANCELLED: removed from the queue', async (t) => {
  const held = await startHeld();
  const id = await single.run({ mode: 'echo', note: files.path('cancelled.note') });
  const answer = await single.call('POST', `/cancel/${id}`);
  t.equal(answer.status, 200);
  t.match(answer.json, { id, status: 'CANCELLED' });
  await waitFor('the queue to be empty', async () => (await single.health()).jobs.inQueue === 0);
  held.release();
  await single.reached(await single.run({ mode: 'echo' }), 'COMPLETED');
  t.same(files.lines('cancelled.note'), [], 'a later job ran, this one never did');
  t.match((await single.status(id)).json, { id, status: 'CANCELLED' });
});

t.test(
  'IN_PROGRESS | POST /cancel/{job_id} | job running | CANCELLED: job stopped; response returns at once',
  async (t) => {
    const jobs = endpointJobs(system, await system.createEndpoint({ command, workersMax: 1 }));
    const id = await jobs.run({ mode: 'block', note: files.path('deaf') });
    const pid = Number(await files.noted('deaf'));
    const answer = await jobs.call('POST', `/cancel/${id}`);
    t.match(answer.json, { id, status: 'CANCELLED' });
    await waitFor('the deaf worker to be ended', () => !isAlive(pid), 15_000);
    t.match((await jobs.status(id)).json, { status: 'CANCELLED' }, 'its end does not change the job');
    await jobs.reached(await jobs.run({ mode: 'echo' }), 'COMPLETED', 20_000);
  },
);

t.test(
  'FAILED or TIMED_OUT | POST /retry/{job_id} | IN_QUEUE: same id, original input, previous output removed',
  async (t) => {
    const input = { mode: 'fail-then', file: files.path('mended'), value: 'mended' };
    const failed = await single.run(input);
    t.match(await single.reached(failed, 'FAILED'), { error: /not yet/ });
    files.open('mended');
    const held = await startHeld();
    const before = await rows.job(failed);
    const answer = await single.call('POST', `/retry/${failed}`);
    t.equal(answer.status, 200);
    t.same(answer.json, { id: failed, status: 'IN_QUEUE' });
    t.same((await single.status(failed)).json, { id: failed, status: 'IN_QUEUE' }, 'error, output and times are gone');
    t.equal((await rows.sql`SELECT 1 FROM job_output WHERE job_id = ${failed}`).length, 0);
    t.equal((await rows.job(failed))!.ttl_ms, before!.ttl_ms, 'its ttl still counts from the first submission');
    held.release();
    t.match(await single.reached(failed, 'COMPLETED'), { id: failed, output: 'mended' });

    const timedOut = await startHeld(fragile);
    await rows.elapseExecution(timedOut.id);
    await fragile.reached(timedOut.id, 'TIMED_OUT');
    timedOut.release();
    t.same((await fragile.call('POST', `/retry/${timedOut.id}`)).json, { id: timedOut.id, status: 'IN_QUEUE' });
    t.match(await fragile.reached(timedOut.id, 'COMPLETED'), { output: { done: true } });
  },
);

t.test('retry | results not yet expired: an expired job cannot be retried', async (t) => {
  const id = await single.run({ mode: 'throw', message: 'x' });
  await single.reached(id, 'FAILED');
  await rows.elapseRetention(id);
  const answer = await single.call('POST', `/retry/${id}`);
  t.equal(answer.status, 404);
  t.match(answer.json, { code: 'job_not_found' });
});

t.test('retry applies only to FAILED and TIMED_OUT', async (t) => {
  const queued = await parked.run({});
  const cancelled = await parked.run({});
  await parked.call('POST', `/cancel/${cancelled}`);
  const completed = await single.run({ mode: 'echo' });
  await single.reached(completed, 'COMPLETED');
  const held = await startHeld();
  for (const [jobs, id, state] of [
    [parked, queued, 'IN_QUEUE'],
    [parked, cancelled, 'CANCELLED'],
    [single, completed, 'COMPLETED'],
    [single, held.id, 'IN_PROGRESS'],
  ] as const) {
    const answer = await jobs.call('POST', `/retry/${id}`);
    t.equal(answer.status, 400, state);
    t.match(answer.json, { code: 'job_not_retryable', error: String }, state);
    t.match((await jobs.status(id)).json, { status: state }, `still ${state}`);
  }
  held.release();
  await single.reached(held.id, 'COMPLETED');
});

t.test('no move leads out of COMPLETED, CANCELLED, FAILED or TIMED_OUT by cancel', async (t) => {
  const completed = await single.run({ mode: 'value', value: 1 });
  await single.reached(completed, 'COMPLETED');
  const failed = await single.run({ mode: 'throw', message: 'x' });
  await single.reached(failed, 'FAILED');
  const cancelled = await parked.run({});
  await parked.call('POST', `/cancel/${cancelled}`);
  for (const [jobs, id, state] of [
    [single, completed, 'COMPLETED'],
    [single, failed, 'FAILED'],
    [parked, cancelled, 'CANCELLED'],
  ] as const) {
    const answer = await jobs.call('POST', `/cancel/${id}`);
    t.equal(answer.status, 200, state);
    t.match(answer.json, { id, status: state });
  }
  t.equal((await single.status(completed)).json.output, 1);
});

t.test('IN_QUEUE | POST /purge-queue | job pending | removed: jobs already in progress keep running', async (t) => {
  const held = await startHeld();
  const queued = await Promise.all([1, 2, 3].map(() => single.run({ mode: 'echo', note: files.path('purged.note') })));
  const answer = await single.call('POST', '/purge-queue');
  t.equal(answer.status, 200);
  t.same(answer.json, { removed: 3, status: 'completed' });
  for (const id of queued) t.equal((await single.status(id)).status, 404);
  for (const id of queued) await rows.removed(id);
  t.match((await single.status(held.id)).json, { status: 'IN_PROGRESS' });
  held.release();
  t.match(await single.reached(held.id, 'COMPLETED'), { output: { done: true } });
  t.same(files.lines('purged.note'), []);
});

t.test('any | ttl elapses | measured from submission | job deleted; later status checks return 404', async (t) => {
  const queued = await parked.run({}, { policy: { ttl: 10_000 } });
  await rows.elapseTtl(queued);
  const answer = await parked.status(queued);
  t.equal(answer.status, 404, 'queued');
  t.match(answer.json, { code: 'job_not_found' });
  await rows.removed(queued);

  const finished = await single.run({ mode: 'echo' });
  await single.reached(finished, 'COMPLETED');
  await rows.elapseTtl(finished);
  t.equal((await single.status(finished)).status, 404, 'finished');
  await rows.removed(finished);
});

t.test('any | ttl elapses | applies even while running: the worker is stopped', async (t) => {
  const held = await startHeld();
  await rows.elapseTtl(held.id);
  t.equal((await single.status(held.id)).status, 404);
  await rows.removed(held.id);
  await waitFor('nothing to run', async () => (await single.health()).jobs.inProgress === 0);
  t.match(
    (await single.call('POST', '/runsync', { input: { mode: 'echo' } })).json,
    { status: 'COMPLETED' },
    'its slot is free again',
  );
  held.release();
  t.equal((await single.status(held.id)).status, 404, 'what the handler does later brings nothing back');

  const deaf = await fragile.run({ mode: 'block', note: files.path('deaf-ttl') });
  const pid = Number(await files.noted('deaf-ttl'));
  await rows.elapseTtl(deaf);
  await waitFor('the deaf worker to be ended', () => !isAlive(pid), 15_000);
});

t.test('IN_PROGRESS | execution exceeds executionTimeout | TIMED_OUT by the clock, after 5 seconds', async (t) => {
  const { json } = await clocked;
  t.match(json, { status: 'TIMED_OUT', error: String });
  t.ok(json.executionTime >= 5000 && json.executionTime < 8000, `stopped after ${json.executionTime} ms`);
});
