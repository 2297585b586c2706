// test: alone, postgres
/** The pipeline over a real socket: every kind of call, errors, waits that are abandoned, packing, and its end. */
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import type {
  PipelineCall,
  PipelineReply,
  PipelineRequest,
  PipelineResponse,
  SubmitJobRequest,
} from '@slipway/proto/gen/slipway/v1/job_service';
import type { Test } from 'tap';
import t from 'tap';
import { call, grpcClients } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { refused } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const MEBIBYTE = 1024 * 1024;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const core = await startReplicas(t);
const endpointId = await core.createEndpoint();

function submit(more: Partial<SubmitJobRequest> = {}): SubmitJobRequest {
  return {
    endpointId,
    requestId: randomUUID(),
    kind: SubmitKind.ASYNC,
    input: Buffer.from('{"a":1}'),
    webhook: '',
    policy: undefined,
    s3Config: undefined,
    waitMs: 0,
    idempotencyKey: '',
    ...more,
  };
}

/** An open pipeline. */
class Client {
  readonly replies = new Map<number, PipelineReply['reply']>();
  messages = 0;
  readonly stream: ClientDuplexStream<PipelineRequest, PipelineResponse>;
  #next = 1;

  constructor(t: Test) {
    this.stream = core.clients.jobs.pipeline();
    this.stream.on('data', (response: PipelineResponse) => {
      this.messages += 1;
      for (const { callId, reply } of response.replies) {
        if (this.replies.has(callId)) t.fail('a call is answered once');
        this.replies.set(callId, reply);
      }
    });
    this.stream.on('error', () => undefined);
    t.teardown(() => {
      this.stream.cancel();
    });
  }

  /** Sends calls in one message. Returns their ids. */
  send(...calls: PipelineCall['call'][]): number[] {
    const numbered = calls.map((each) => ({ callId: this.#next++, apiKey: core.key, call: each }));
    this.stream.write({ calls: numbered });
    return numbered.map(({ callId }) => callId);
  }

  async reply<Case extends NonNullable<PipelineReply['reply']>['$case']>(callId: number, wanted: Case) {
    const reply = await waitFor(`reply ${callId}`, () => this.replies.get(callId));
    if (reply.$case !== wanted) throw new Error(`${reply.$case} instead of ${wanted}: ${JSON.stringify(reply.value)}`);
    return reply.value as Extract<PipelineReply['reply'], { $case: Case }>['value'];
  }
}

t.test('each kind of call, and its errors with reason and code', async (t) => {
  const client = new Client(t);
  const [submitted] = client.send({ $case: 'submit', value: submit() });
  const { job } = await client.reply(submitted!, 'submit');
  t.match(job, { state: JobState.IN_QUEUE, endpointId, attempt: 0, submitTime: Date, finishTime: undefined });
  const key = { endpointId, jobId: job!.id };
  const [get, wait, chunks, cancel] = client.send(
    { $case: 'get', value: { ...key, omitOutput: false, ttlMs: 0 } },
    { $case: 'wait', value: { ...key, waitMs: 1 } },
    { $case: 'chunks', value: { ...key, cursor: undefined, waitMs: 1, limit: 0 } },
    { $case: 'cancel', value: key },
  );
  t.match(await client.reply(get!, 'get'), { job: { id: job!.id } });
  t.match(await client.reply(wait!, 'wait'), { job: { id: job!.id } });
  t.match(await client.reply(chunks!, 'chunks'), { chunks: [], more: false });
  t.match(await client.reply(cancel!, 'cancel'), { job: { state: JobState.CANCELLED, finishTime: Date } });
  const faults: [string, number, PipelineCall['call']][] = [
    ['INVALID_INPUT', 3, { $case: 'submit', value: submit({ input: Buffer.from('[]') }) }],
    ['INVALID_REQUEST', 3, { $case: 'submit', value: submit({ kind: SubmitKind.UNSPECIFIED }) }],
    ['INVALID_REQUEST', 3, { $case: 'submitAndWait', value: submit({ kind: SubmitKind.SYNC, waitMs: 999 }) }],
    ['ENDPOINT_NOT_FOUND', 5, { $case: 'submit', value: submit({ endpointId: 'nosuchendpoint' }) }],
    ['JOB_NOT_FOUND', 5, { $case: 'get', value: { endpointId, jobId: 'x', omitOutput: false, ttlMs: 0 } }],
    ['INVALID_REQUEST', 3, undefined],
  ];
  const ids = client.send(...faults.map(([, , each]) => each));
  for (const [index, [reason, code]] of faults.entries())
    t.match(await client.reply(ids[index]!, 'error'), { reason, code }, reason);
  client.stream.write({ calls: [{ callId: 900, apiKey: 'nonsense', call: { $case: 'submit', value: submit() } }] });
  t.match(await client.reply(900, 'error'), { reason: 'UNAUTHORIZED', code: 16 });
});

t.test('a key is checked as by a call of its own', async (t) => {
  const client = new Client(t);
  const question = { endpointId, write: true, api: Api.JOBS };
  const alone = await call(core.clients.access, 'checkAccess', question, core.key);
  const asked = (value: typeof question): PipelineCall['call'] => ({ $case: 'checkAccess', value });
  const [good, unknown] = client.send(asked(question), asked({ ...question, endpointId: 'nosuchendpoint' }));
  client.stream.write({ calls: [{ callId: 900, apiKey: 'nonsense', call: asked(question) }] });
  t.match(await client.reply(good!, 'checkAccess'), { ...alone, validMs: Number });
  t.match(await client.reply(unknown!, 'error'), { reason: 'ENDPOINT_NOT_FOUND', code: 5 });
  t.match(await client.reply(900, 'error'), { reason: 'UNAUTHORIZED', code: 16 });
});

t.test('an abandoned wait returns the current state; unknown numbers are ignored', async (t) => {
  const client = new Client(t);
  const [waiting] = client.send({ $case: 'submitAndWait', value: submit({ kind: SubmitKind.SYNC, waitMs: 300_000 }) });
  client.send({ $case: 'abandon', value: { callId: 12_345 } });
  client.send({ $case: 'abandon', value: { callId: waiting! } });
  t.match(await client.reply(waiting!, 'wait'), { job: { id: /^sync-/, state: JobState.IN_QUEUE } });
  t.equal(client.replies.size, 1, 'an abandon itself is not answered');
});

t.test('a number that is in use ends the stream', async (t) => {
  const client = new Client(t);
  const failure = new Promise((resolve) => void client.stream.once('error', resolve));
  const { job } = await client.reply(client.send({ $case: 'submit', value: submit() })[0]!, 'submit');
  const wait = { $case: 'wait' as const, value: { endpointId, jobId: job!.id, waitMs: 300_000 } };
  for (let n = 0; n < 2; n += 1) client.stream.write({ calls: [{ callId: 77, apiKey: core.key, call: wait }] });
  t.match(await failure, { code: status.INVALID_ARGUMENT, details: /^call_id 77 is in use/ });
});

t.test('many calls leave in few messages', async (t) => {
  const client = new Client(t);
  const ids: number[] = [];
  for (let i = 0; i < 10; i += 1)
    ids.push(...client.send(...Array.from({ length: 100 }, () => ({ $case: 'submit' as const, value: submit() }))));
  await waitFor('all answers', () => client.replies.size === ids.length);
  t.ok(client.messages < ids.length / 10, `${client.messages} messages for ${ids.length} answers`);
});

t.test("after the caller's half-close pending calls are answered and the stream ends", async (t) => {
  const client = new Client(t);
  const ended = new Promise<void>((resolve) => {
    client.stream.on('end', () => resolve());
  });
  const [submitted] = client.send({ $case: 'submit', value: submit() });
  client.stream.end();
  await ended;
  t.equal(client.replies.get(submitted!)?.$case, 'submit');
});

t.test('unary calls: the same use cases, statuses with their reason', async (t) => {
  const { jobs } = core.clients;
  const { job } = await call(jobs, 'submitJob', submit(), core.key);
  const key = { endpointId, jobId: job!.id };
  t.match(
    await call(
      jobs,
      'listJobs',
      { endpointId, state: JobState.IN_QUEUE, offset: 0, limit: 1, pageToken: '', oldestFirst: false },
      core.key,
    ),
    { jobs: [{ id: job!.id }] },
  );
  await refused(t, call(jobs, 'retryJob', key, core.key), 'JOB_NOT_RETRYABLE');
  await refused(
    t,
    call(
      jobs,
      'listJobs',
      { endpointId, state: 99 as JobState, offset: 0, limit: 1, pageToken: '', oldestFirst: false },
      core.key,
    ),
    'INVALID_REQUEST',
  );
  await refused(t, call(jobs, 'getJob', { ...key, omitOutput: true, ttlMs: 0 }, ''), 'UNAUTHORIZED');
  const { removed } = await call(jobs, 'purgeQueue', { endpointId }, core.key);
  t.ok(removed > 0);
  t.match(await call(jobs, 'getHealth', { endpointId }, core.key), { workers: { idle: 0, running: 0 } });
});

t.test('a stopping replica answers waiting callers and ends their streams', async (t) => {
  const replica = await core.startReplica();
  const clients = grpcClients(replica.address);
  t.teardown(() => clients.close());
  const stream = clients.jobs.pipeline();
  const answers: PipelineReply[] = [];
  stream.on('data', (response: PipelineResponse) => {
    answers.push(...response.replies);
  });
  const ended = new Promise<void>((resolve) => {
    stream.on('end', () => resolve()).on('error', () => resolve());
  });
  const { job } = await call(clients.jobs, 'submitJob', submit(), core.key);
  const key = { endpointId, jobId: job!.id };
  stream.write({
    calls: [
      { callId: 1, apiKey: core.key, call: { $case: 'get', value: { ...key, omitOutput: true, ttlMs: 0 } } },
      { callId: 2, apiKey: core.key, call: { $case: 'wait', value: { ...key, waitMs: 300_000 } } },
    ],
  });
  await waitFor('the first answer', () => answers.length > 0);
  await replica.stop();
  await ended;
  t.match(
    answers.find(({ callId }) => callId === 2),
    { reply: { $case: 'wait', value: { job: { state: JobState.IN_QUEUE } } } },
  );
});

t.test('a wait is answered by the commit of its job', async (t) => {
  const own = await core.createEndpoint({ workersMin: 1 });
  const agent = await core.joinAgent();
  await waitFor('a worker', () => agent.desired.length > 0);
  const client = new Client(t);
  const [waiting] = client.send({ $case: 'submitAndWait', value: submit({ endpointId: own, kind: SubmitKind.SYNC }) });
  t.match(await client.reply(waiting!, 'wait'), {
    job: { state: JobState.COMPLETED, output: Buffer.from('{"ok":true}'), delayMs: Number, executionMs: Number },
  });
});

t.test('a message with too many calls, and a request_id that comes again with another body or kind', async (t) => {
  const client = new Client(t);
  const calls = client.send(...Array.from({ length: 1_002 }, () => ({ $case: 'submit' as const, value: submit() })));
  for (const callId of calls.slice(-2))
    t.match(await client.reply(callId, 'error'), { reason: 'INVALID_REQUEST', message: /at most 1000 calls/ });
  await client.reply(calls[999]!, 'submit');
  await client.reply(calls[0]!, 'submit');
  const first = submit();
  const submitted = async (more: Partial<SubmitJobRequest>) =>
    (await call(core.clients.jobs, 'submitJob', { ...first, ...more }, core.key)).job!;
  const { id } = await submitted({});
  t.equal((await submitted({ input: Buffer.from('{"b":2}') })).id, id, 'the first job as it was submitted');
  t.equal((await submitted({ kind: SubmitKind.SYNC })).id, `sync-${id}`, 'another job');
  await call(core.clients.jobs, 'purgeQueue', { endpointId }, core.key);
});

t.test('large outputs are read no faster than their reader takes them', async (t) => {
  const agent = await core.joinAgent({
    onAssignment: () => ({ kind: OutcomeKind.COMPLETED, output: Buffer.alloc(8 * MEBIBYTE, '1') }),
  });
  t.teardown(() => agent.drop());
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  const client = new Client(t);
  client.stream.pause();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const get = { $case: 'get' as const, value: { endpointId, jobId: id, omitOutput: false, ttlMs: 0 } };
  const wait = { $case: 'wait' as const, value: { endpointId, jobId: id, waitMs: 1_000 } };
  const calls = client.send(...Array.from({ length: 20 }, () => [get, wait]).flat());
  // Time enough to read all of them.
  for (let i = 0; i < 600; i += 1)
    await call(core.clients.jobs, 'getJob', { ...get.value, omitOutput: true }, core.key);
  collectGarbage();
  const held = process.memoryUsage().arrayBuffers - before;
  t.ok(held < 160 * MEBIBYTE, `${Math.round(held / MEBIBYTE)} MiB of 320 while nobody reads`);
  client.stream.resume();
  for (const callId of calls) {
    t.match(await waitFor(`reply ${callId}`, () => client.replies.get(callId), 30_000), { value: { job: { id } } });
    client.replies.set(callId, undefined);
  }
});
