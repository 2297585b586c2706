// test: 10 s
/** The pipeline against a real gRPC server: batches, errors, lost streams, callers that go away. */

import { PipelineClient } from '@slipway/facades/core-client/pipeline-client';
import { PipelinedAccess } from '@slipway/facades/core-client/pipelined-access';
import { PipelinedJobs } from '@slipway/facades/core-client/pipelined-jobs';
import { ServiceCalls } from '@slipway/facades/core-client/service-calls';
import { StoppedError } from '@slipway/kit/lifecycle/service';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { AccessServiceClient, Api, CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import { Job, JobState, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import type { PipelineReply } from '@slipway/proto/gen/slipway/v1/job_service';
import { JobServiceClient, SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { PIPELINE_CALLS_MAX } from '@slipway/proto/wire/limits';
import type { CoreError } from '@slipway/proto/wire/reason';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { Answer } from './pipeline-core.ts';
import { PipelineCore } from './pipeline-core.ts';

const FINISHED = Job.create({ id: 'j', state: JobState.COMPLETED });
const READ = { endpointId: 'e', jobId: 'j', omitOutput: false, ttlMs: 0 };
const got: PipelineReply['reply'] = { $case: 'get', value: { job: FINISHED } };
const submission = (requestId: string): SubmitJobRequest => ({
  ...SubmitJobRequest.create(),
  endpointId: 'e',
  requestId,
  kind: SubmitKind.SYNC,
  input: Buffer.from('{}'),
  waitMs: 60_000,
});

async function setup(t: Test, answer: Answer, { cores = 1, logger = createLogger('test', 'silent') } = {}) {
  const servers = await Promise.all(Array.from({ length: cores }, () => new PipelineCore(t, answer).start()));
  const replicas = {
    addresses: servers.map(({ address }) => address),
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
  };
  const pipeline = new PipelineClient({ ...replicas, logger });
  const unary = new ServiceCalls(JobServiceClient, replicas);
  const checks = new ServiceCalls(AccessServiceClient, replicas);
  await pipeline.start();
  t.teardown(async () => {
    await pipeline.stop();
    unary.close();
    checks.close();
  });
  const access = new PipelinedAccess(pipeline, checks);
  return { jobs: new PipelinedJobs(pipeline, unary, systemClock), access, pipeline, servers, core: servers[0]! };
}

t.test('calls of one tick leave in one message, with the key of each caller', async (t) => {
  const { jobs, core } = await setup(t, () => got);
  await jobs.get('first', READ);
  await Promise.all(Array.from({ length: 100 }, (_, n) => jobs.get(`key-${n}`, READ)));
  t.equal(core.messages.length, 2);
  t.equal(core.messages[1]!.length, 100);
  t.equal(new Set(core.messages[1]!.map(({ apiKey }) => apiKey)).size, 100);
  t.equal(new Set(core.calls.map(({ callId }) => callId)).size, 101, 'call ids are unique');
});

t.test('a small input is passed on at once, and held while its job runs', async (t) => {
  const { jobs, core } = await setup(t, () => undefined);
  const passed: unknown[] = [];
  const call = jobs.submitAndWait('key', submission('small'), (input) => passed.push(input));
  await waitFor('the call', () => core.calls.length === 1);
  t.same(passed, [{ isHeld: true }]);
  call.abandon();
  call.answer.catch(() => undefined);
});

t.test('messages stay within their limit', async (t) => {
  const { jobs, core } = await setup(t, () => got);
  await Promise.all(Array.from({ length: PIPELINE_CALLS_MAX * 2 + 1 }, () => jobs.get('key', READ)));
  t.ok(core.messages.every((calls) => calls.length <= PIPELINE_CALLS_MAX));
});

t.test('answers in any order reach their own callers', async (t) => {
  const { jobs, core } = await setup(t, () => undefined);
  const both = Promise.all([jobs.get('a', READ), jobs.get('b', READ)]);
  await waitFor('both calls', () => core.calls.length === 2);
  for (const call of core.calls.toReversed())
    core.send(call.callId, { $case: 'get', value: { job: { ...FINISHED, id: call.apiKey } } });
  t.same(
    (await both).map(({ id }) => id),
    ['a', 'b'],
  );
});

t.test('errors carry their reason', async (t) => {
  const { jobs } = await setup(t, () => ({
    $case: 'error',
    value: { code: 5, reason: 'JOB_NOT_FOUND', message: 'no such job', databaseAway: false },
  }));
  await t.rejects(jobs.get('key', READ), { message: 'no such job', name: 'CoreError' });
});

t.test('keys are checked in few messages; by separate calls with an older core or a full queue', async (t) => {
  const grant = CheckAccessResponse.create({ accountId: 'a', keyId: 'k', validMs: 5 });
  let reason = '';
  const { access, core } = await setup(t, ({ call }) => {
    if (reason !== '')
      return { $case: 'error', value: { code: 3, reason, message: `refused: ${reason}`, databaseAway: false } };
    return {
      $case: 'checkAccess',
      value: { ...grant, accountId: call?.$case === 'checkAccess' ? call.value.endpointId : '' },
    };
  });
  core.grant = grant;
  const check = (endpointId: string) => access.check('key', { endpointId, write: true, api: Api.JOBS });
  await check('first');
  const accounts = (await Promise.all(Array.from({ length: 100 }, (_, n) => check(`e${n}`)))).map(
    ({ accountId }) => accountId,
  );
  t.same(
    accounts,
    Array.from({ length: 100 }, (_, n) => `e${n}`),
    'each its own answer',
  );
  t.equal(core.messages.length, 2);
  t.equal(core.checks, 0);
  for (reason of ['INVALID_REQUEST', 'RATE_LIMITED']) t.same(await check('e'), grant, reason);
  t.equal(core.checks, 2);
  for (reason of ['UNAUTHORIZED', 'ENDPOINT_NOT_FOUND'])
    await t.rejects(check('e'), { message: `refused: ${reason}` }, 'what core says of the key stands');
  t.equal(core.checks, 2);
});

t.test('UNAVAILABLE is retried', async (t) => {
  let refusals = 2;
  const { jobs, core } = await setup(t, () =>
    refusals-- > 0
      ? { $case: 'error', value: { code: 14, reason: 'UNAVAILABLE', message: 'x', databaseAway: false } }
      : got,
  );
  t.match(await jobs.get('key', READ), { id: 'j' });
  t.equal(core.calls.length, 3);
});

t.test('DATABASE_AWAY is not retried', async (t) => {
  const { jobs, core } = await setup(t, () => ({
    $case: 'error',
    value: { code: 14, reason: 'UNAVAILABLE', message: 'x', databaseAway: true },
  }));
  await t.rejects(jobs.get('key', READ), { name: 'CoreError', message: 'x' });
  t.equal(core.calls.length, 1);
});

t.test('a lost core: submissions are retried with the same request_id', async (t) => {
  let alive = false;
  const { jobs, core } = await setup(t, () => (alive ? { $case: 'wait', value: { job: FINISHED } } : undefined));
  const waiting = jobs.submitAndWait('key', submission('the-same'));
  await waitFor('the first try', () => core.calls.length === 1);
  core.kill();
  alive = true;
  await core.start();
  t.match(await waiting.answer, { id: 'j' });
  t.same(
    core.calls.map(({ call }) => call?.$case === 'submitAndWait' && call.value.requestId),
    ['the-same', 'the-same'],
  );
  t.same(
    core.calls.map(({ firstSend = false }) => firstSend),
    [true, false],
    'only the first may run before it is stored',
  );
});

t.test('a lost core: a wait continues for its remaining time', async (t) => {
  let alive = false;
  const { jobs, core } = await setup(t, () => (alive ? { $case: 'wait', value: { job: FINISHED } } : undefined));
  const waiting = jobs.wait('key', { endpointId: 'e', jobId: 'j', waitMs: 60_000 });
  await waitFor('the first try', () => core.calls.length === 1);
  core.kill();
  alive = true;
  await core.start();
  await waiting.answer;
  const [first, second] = core.calls.map(({ call }) => (call?.$case === 'wait' ? call.value.waitMs : 0));
  t.equal(first, 60_000);
  t.ok(second! < 60_000 && second! > 40_000, `${second} ms are left`);
});

t.test('a lost core: reading from a cursor continues, reading the shared cursor is not retried', async (t) => {
  const { jobs, core } = await setup(t, () => undefined);
  const read = { endpointId: 'e', jobId: 'j', waitMs: 60_000, limit: 10 };
  const draining = jobs.chunks('key', { ...read, cursor: undefined });
  const reading = jobs.chunks('key', { ...read, cursor: { attempt: 0, number: 0 } });
  await waitFor('both calls', () => core.calls.length === 2);
  core.kill();
  await t.rejects(draining.answer, { message: /not reachable/ });
  await core.start();
  const again = await waitFor('the second try', () => core.calls[2]);
  core.send(again.callId, {
    $case: 'chunks',
    value: { chunks: [], state: JobState.COMPLETED, cursor: undefined, more: false },
  });
  t.match(await reading.answer, { state: JobState.COMPLETED });
});

t.test('a missing core is logged once each time', async (t) => {
  const told: object[] = [];
  const logger = createLogger('test', 'silent');
  logger.warn = (facts: object, text?: string) => {
    if (text?.startsWith('core cannot be reached')) told.push(facts);
  };
  const { jobs, core } = await setup(t, () => got, { logger });
  const { address } = core;
  for (let times = 1; times <= 2; times += 1) {
    await jobs.get('key', READ);
    core.kill();
    await waitFor('it to be told', () => told.length === times, 30_000);
    await core.start();
  }
  await jobs.get('key', READ);
  t.same(told, [{ address }, { address }]);
});

t.test('with two cores the other takes over', async (t) => {
  const { jobs, servers } = await setup(t, (call) => (call.call?.$case === 'get' ? got : undefined), { cores: 2 });
  await waitFor('both to be used', async () => {
    await Promise.all([jobs.get('key', READ), jobs.get('key', READ)]);
    return servers.every(({ calls }) => calls.length > 0);
  });
  servers[0]!.kill();
  const answers = await Promise.all(Array.from({ length: 20 }, () => jobs.get('key', READ)));
  t.equal(answers.length, 20);
});

t.test('core is notified when a caller leaves', async (t) => {
  const { jobs, core } = await setup(t, (call, core) => {
    if (call.call?.$case === 'abandon')
      core.send(call.call.value.callId, { $case: 'wait', value: { job: { ...FINISHED, state: JobState.IN_QUEUE } } });
    return undefined;
  });
  const waiting = jobs.submitAndWait('key', submission('left'));
  await waitFor('the call', () => core.calls.length === 1);
  waiting.abandon();
  waiting.abandon();
  t.match(await waiting.answer, { state: JobState.IN_QUEUE }, 'answered as things stand');
  t.equal(core.calls.filter(({ call }) => call?.$case === 'abandon').length, 1);
});

t.test('an unresponsive core gets at most 64 MiB of calls; calls beyond the queue are refused', async (t) => {
  const { jobs, core } = await setup(t, (call) =>
    call.call?.$case === 'get' ? got : { $case: 'submit', value: { job: FINISHED } },
  );
  await jobs.get('key', READ);
  core.read(false);
  const input = Buffer.alloc(250_000, ' ');
  const submit = async (n: number): Promise<string> => {
    try {
      return (await jobs.submit('key', { ...submission(`r${n}`), input })).id;
    } catch (error) {
      return (error as CoreError).reason;
    }
  };
  const refused: string[] = [];
  const answers = Array.from({ length: 700 }, async (_, n) => {
    const answer = await submit(n);
    if (answer !== 'j') refused.push(answer);
    return answer;
  });
  await waitFor('calls to be refused', () => refused.length > 0);
  t.equal(core.calls.length, 1, 'nothing was read');
  t.same(new Set(refused), new Set(['RATE_LIMITED']));
  const taken = answers.length - refused.length;
  t.ok(taken > 500 && taken < 600, `${taken} of 250 kB: twice 64 MiB, and what is on its way`);
  core.read(true);
  t.equal(await answers[0], 'j', 'what was taken goes on when core reads again');
});

t.test('stopping answers all waiters', async (t) => {
  const { jobs, core, pipeline } = await setup(t, () => undefined);
  const read = jobs.get('key', READ);
  await waitFor('the call', () => core.calls.length === 1);
  const refused = t.rejects(read, { message: /not reachable/ });
  await pipeline.stop();
  await refused;
  await t.rejects(jobs.get('key', READ), { message: /not reachable/ }, 'calls after the end too');
});

t.test('it refuses calls while stopped, and serves after a restart, also after a stop during the start', async (t) => {
  const { jobs, pipeline } = await setup(t, () => got);
  t.match(await jobs.get('a', READ), { id: 'j' });
  await Promise.all([pipeline.stop(), pipeline.stop()]);
  await t.rejects(jobs.get('a', READ), { message: /not reachable/ });
  const overtaken = pipeline.start();
  await Promise.all([t.rejects(overtaken, StoppedError), pipeline.stop()]);
  await pipeline.start();
  t.match(await jobs.get('b', READ), { id: 'j' });
});
