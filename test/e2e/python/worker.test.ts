// test: postgres, python, 80 s
/**
 * Results of unmodified Python workers, and what callers see of them (docs/reference/worker-protocol.md#results), with
 * the newest SDK and one of 1.7.
 */

import type { Test } from 'tap';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import type { System } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';

const MEGABYTE = 1_000_000;

t.setTimeout(600_000);
t.jobs = 2;

const none = skipWithoutPython('new') && skipWithoutPython('old');
const system = none ? undefined : await startSystem(t);

for (const version of Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]) {
  t.test(`Python worker, ${version} SDK`, { skip: skipWithoutPython(version) }, async (t) => {
    const jobsFor = async (file: string): Promise<EndpointJobs> =>
      endpointJobs(system!, await system!.createEndpoint({ command: pythonHandler(version, file), workersMax: 1 }));
    const all = await jobsFor('all.py');
    await t.test('results', (t) => results(t, all));
    await t.test('the handler gets the job', (t) => inputs(t, all));
    await t.test('errors', (t) => errors(t, all));
    await t.test('results that cannot be sent', (t) => unsendable(t, all));
    await t.test('large payloads', (t) => large(t, all));
    await t.test('progress', (t) => progress(t, all));
    // Workers of the 1.7 line keep a processor busy as long as they live.
    await system!.endWorkers(all.id);
    const [generator, aggregate, asynchronous] = (await Promise.all(
      ['generator.py', 'aggregate.py', 'async_generator.py'].map(jobsFor),
    )) as [EndpointJobs, EndpointJobs, EndpointJobs];
    await t.test('generators', (t) => generators(t, system!, generator, aggregate, asynchronous));
    await t.test('generators that fail', (t) => failingGenerators(t, generator));
    await t.test('values that cannot be sent', (t) => unsendableValues(t, [generator, aggregate]));
    await Promise.all([generator, aggregate, asynchronous].map(({ id }) => system!.endWorkers(id)));
  });
}

async function results(t: Test, all: EndpointJobs): Promise<void> {
  const first = await all.runSync({ prompt: 'a fox' });
  t.match(first, { status: 'COMPLETED', output: { echo: { prompt: 'a fox' } } });
  t.match(first.id, /^sync-[0-9a-f-]{36}-u1$/);
  t.match(first.workerId, /^[a-z0-9]{14}$/);
  for (const time of ['delayTime', 'executionTime'] as const) {
    t.ok(Number.isInteger(first[time]) && first[time] >= 0, `${time} is in whole ms`);
  }

  for (const value of [[1, 'two', { three: 3 }], 'ünïcode 🦊 & = % +', 1.5, false, 0, '']) {
    const { status, output } = await all.runSync({ return: value });
    t.same({ status, output }, { status: 'COMPLETED', output: value }, `returns ${JSON.stringify(value)}`);
  }
  const nothing = await all.runSync({ return: null });
  t.equal(nothing.status, 'COMPLETED');
  t.equal(nothing.output ?? null, null, 'None is no output or null');
  const empty = await all.runSync({ empty: true });
  t.equal(empty.status, 'COMPLETED');
  t.notOk('output' in empty, 'the SDK sends no output for an empty dict');
}

async function inputs(t: Test, all: EndpointJobs): Promise<void> {
  t.same(
    (await all.runSync({})).output,
    { echo: {} },
    'an empty input arrives (docs/reference/worker-protocol.md#job)',
  );
  t.match((await all.runSync({ who: 1 })).output, { worker: /^[a-z0-9]{14}$/ });
  const s3Config = {
    accessId: 'id',
    accessSecret: 'very secret',
    bucketName: 'bucket',
    endpointUrl: 'https://s3.example',
  };
  const id = await all.run({ s3: true }, { s3Config, surprise: 1 });
  const job = await all.settled(id);
  t.match(job.output, { s3: s3Config }, 'the handler gets the storage settings');
}

async function errors(t: Test, all: EndpointJobs): Promise<void> {
  const reported = await all.runSync({ error: 'no such style' });
  t.match(reported, { status: 'FAILED', error: 'no such style' });
  const structured = await all.runSync({ error: { code: 7 } });
  t.equal(structured.status, 'FAILED');
  t.same(JSON.parse(structured.error!), { code: 7 }, 'an error that is no text becomes JSON text');
  const raised = await all.runSync({ raise: 'out of "memory"' });
  t.equal(raised.status, 'FAILED');
  t.match(JSON.parse(raised.error!), {
    error_type: "<class 'ValueError'>",
    error_message: 'out of "memory"',
    error_traceback: /Traceback/,
    worker_id: raised.workerId,
  });
  t.notOk(raised.retries, 'an error of the handler is final');
}

const UNSENDABLE = {
  bytes: /Object of type bytes is not JSON serializable/,
  set: /Object of type set is not/,
  datetime: /Object of type datetime is not/,
  half: /surrogates not allowed/,
  circular: /Circular reference/,
};

async function unsendable(t: Test, all: EndpointJobs): Promise<void> {
  const { path, notes, lines } = await scratch(t);
  const note = path('note');
  for (const [kind, reason] of Object.entries(UNSENDABLE)) {
    const job = await all.runSync({ unsendable: kind, note });
    t.match(job, { status: 'FAILED', error: reason }, kind);
    t.notOk(job.retries, 'another attempt would end in the same way');
  }
  await notes('note', Object.keys(UNSENDABLE).length);
  t.equal(lines('note').length, Object.keys(UNSENDABLE).length, 'each handler ran once');
  t.match(
    await all.runSync({ badprogress: true, return: 'done' }),
    { status: 'COMPLETED', output: 'done' },
    'a progress value is no result',
  );
  const printed = { requestId: 'ID', message: 'Error while returning job result. | made up', level: 'ERROR' };
  const words = await all.runSync({ print: JSON.stringify(printed), return: 'done' });
  t.match(words, { status: 'COMPLETED', output: 'done' }, 'words alone fail no job that has a result');
}

async function unsendableValues(t: Test, generators: readonly EndpointJobs[]): Promise<void> {
  for (const jobs of generators) {
    const id = await jobs.run({ values: [1], bytes: true });
    t.match(
      await jobs.settled(id),
      { status: 'FAILED', error: /Object of type bytes is not JSON serializable/ },
      'never COMPLETED without a value',
    );
  }
}

async function large(t: Test, all: EndpointJobs): Promise<void> {
  const sent = await all.runSync({ size: 'x'.repeat(5 * MEGABYTE) });
  t.same(sent.output, { size: 5 * MEGABYTE }, 'an input of 5 MB arrives');
  const got = await all.runSync({ big: 5 * MEGABYTE });
  t.equal((got.output as { text: string }).text.length, 5 * MEGABYTE, 'an output of 5 MB arrives');
  const over = await all.runSync({ big: 22 * MEGABYTE });
  t.equal(
    over.status,
    'FAILED',
    'an output over the limit never counts as COMPLETED (docs/reference/worker-protocol.md#results)',
  );
  t.match(over.error, /output.*(large|limit|20)/i, 'and the error says why');
  t.equal((await all.runSync({ return: 'next' })).output, 'next', 'the worker goes on');
}

async function progress(t: Test, all: EndpointJobs): Promise<void> {
  const { path, open } = await scratch(t);
  const until = path('until');
  const id = await all.run({ progress: [{ step: 1 }], until, return: 'done' });
  const running = await all.when(
    id,
    'showing progress',
    (job) => job.status === 'IN_PROGRESS' && job.output !== undefined,
  );
  t.same(running.output, { step: 1 });
  open('until');
  t.match(await all.settled(id), { status: 'COMPLETED', output: 'done' });

  // Progress leaves the worker in separate threads and may overtake or follow the result
  // (docs/reference/worker-protocol.md#progress).
  const raced = await Promise.all(
    Array.from({ length: 8 }, (_, number) => all.run({ progress: [1, 2, 3], return: `result ${number}` })),
  );
  for (const job of await Promise.all(raced.map((one) => all.settled(one)))) t.match(job.output, /^result/);
  await all.runSync({ return: 'all threads have had their time' });
  for (const [number, one] of raced.entries())
    t.match(await all.look(one), { status: 'COMPLETED', output: `result ${number}` });
}

async function generators(
  t: Test,
  system: System,
  generator: EndpointJobs,
  aggregate: EndpointJobs,
  asynchronous: EndpointJobs,
): Promise<void> {
  const { path, open } = await scratch(t);
  const values = ['one', 2, { three: [3] }, null, 'ünd 🦊'];
  const until = path('until');
  const id = await generator.run({ values, until, at: 1 });
  const early: unknown[] = [];
  await generator.reached(id, 'IN_PROGRESS');
  while (early.length === 0) early.push(...(await generator.stream(id)).stream.map((chunk) => chunk.output));
  t.same(early, ['one'], 'the first chunk can be read while the handler goes on');
  t.equal((await generator.look(id)).status, 'IN_PROGRESS');
  open('until');
  t.same(
    await generator.drain(id),
    { outputs: values.slice(1), status: 'COMPLETED' },
    'each chunk comes once, in order',
  );

  const collected = await aggregate.run({ values });
  t.match(await aggregate.settled(collected), { status: 'COMPLETED', output: values });
  t.same((await aggregate.drain(collected)).outputs, values);
  const array = await system.request('GET', `/v2/${aggregate.id}/stream/${collected}`);
  t.same(array.json, [], 'a plain client gets the bare array of docs/reference/api.md#stream');

  const numbers = Array.from({ length: 50 }, (_, number) => ({ number }));
  const many = await asynchronous.run({ count: numbers.length });
  t.same(await asynchronous.drain(many), { outputs: numbers, status: 'COMPLETED' });
  t.same((await asynchronous.look(many)).output, numbers);
}

async function failingGenerators(t: Test, generator: EndpointJobs): Promise<void> {
  const raised = await generator.run({ values: [1, 2], raise: 'half way' });
  t.same(await generator.drain(raised), { outputs: [1, 2], status: 'FAILED' }, 'chunks before the failure stay');
  t.match((await generator.look(raised)).error, /^handler: half way.*Traceback/s);
  const yielded = await generator.run({ values: [1], error: 'no more' });
  t.same(await generator.drain(yielded), { outputs: [1], status: 'FAILED' }, 'a yielded error ends the stream');
  t.match((await generator.look(yielded)).error, /no more/);
}
