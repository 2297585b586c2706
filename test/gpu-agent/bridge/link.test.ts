/**
 * The link of a worker of slipway-worker with its agent (docs/reference/worker-protocol.md#link): its own end of it,
 * over a real connection.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentLink } from 'slipway-worker/agent-link';
import { FrameKind } from 'slipway-worker/frames';
import type { Test } from 'tap';
import t from 'tap';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { outcomeOf, refOf } from '../make-outcome.ts';
import { HEADERS, linked } from './linked-worker.ts';

t.test('a take waits for jobs, and a result is answered once it is safe', async (t) => {
  const agent = await linked(t);
  const taken = agent.take(2);
  await waitFor('the take', agent.asks);
  t.match(agent.message()?.workers, [{ capacity: 4, sdkVersion: 'slipway-0.1.0', keepsAhead: true }]);
  agent.intake.assign(
    ['a', 'b', 'c'].map((job) => ({
      ref: agent.refOf(job, 'w'),
      input: Buffer.from('{}'),
      inputSize: 2,
      s3Config: undefined,
      ahead: false,
    })),
  );
  t.same(await taken, ['a', 'b'], 'as many as it asked for');
  await agent.link.ask(FrameKind.PROGRESS, 'a', 0, '{"status":"IN_PROGRESS","output":1}');
  t.match(agent.message()?.progress, [{ ref: { jobId: 'a' } }]);
  await Promise.all([
    agent.link.ask(FrameKind.RESULT, 'a', 0, '{"output":1}'),
    agent.link.ask(FrameKind.RESULT, 'b', 0, '{"error":"no"}'),
    agent.link.ask(FrameKind.RESULT, 'unknown', 0, '{"output":1}'),
  ]);
  t.equal(agent.spool.size, 2, 'both are on the disk');
  t.same(agent.outcomes().sort(), [
    ['a', OutcomeKind.COMPLETED, '1'],
    ['b', OutcomeKind.FAILED, undefined],
  ]);
  t.same(await agent.take(), ['c'], 'what waited goes with the next');
});

t.test('streamed values arrive before the end of their job, numbered', async (t) => {
  const agent = await linked(t);
  const taken = agent.take();
  await waitFor('the take', agent.asks);
  agent.assign(agent.refOf('a', 'w'));
  await taken;
  for (const value of [1, 2]) await agent.link.ask(FrameKind.VALUE, 'a', 0, JSON.stringify({ output: value }));
  await agent.link.ask(FrameKind.RESULT, 'a', 1, '{"output":[]}');
  const message = agent.message();
  t.match(message?.chunks, [
    { number: 1, output: Buffer.from('1') },
    { number: 2, output: Buffer.from('2') },
  ]);
  t.match(message?.outcomes, [{ ref: { jobId: 'a' }, kind: OutcomeKind.COMPLETED }]);
});

t.test('a broken link ends its take: later jobs wait for the next', async (t) => {
  const agent = await linked(t);
  const taken = agent.take();
  await waitFor('the take', agent.asks);
  await agent.bridge.stop();
  await t.rejects(taken);
  await waitFor('its end', () => !agent.asks());
  agent.assign(agent.refOf('a', 'w'));
  t.equal(agent.holdings.of('w').size, 0);
  t.ok(agent.holdings.of('w').waiting > 0);
  t.notOk(agent.link.isOpen);
  await t.rejects(agent.link.ask(FrameKind.RESULT, 'a', 0, '{}'), 'it is posted instead');
});

t.test('a stopping worker gets no more jobs', async (t) => {
  const agent = await linked(t);
  const taken = agent.take();
  await waitFor('the take', agent.asks);
  await agent.desire({});
  t.same(await taken, []);
});

t.test('other clients get no link', async (t) => {
  const agent = await linked(t);
  t.equal(await AgentLink.open(agent.url('wrong'), HEADERS), undefined);
  t.equal(await AgentLink.open(agent.url().replace('/w?', '/other?'), HEADERS), undefined);
  t.equal(
    await AgentLink.open(agent.url().replace('job-link', 'job-take'), HEADERS),
    undefined,
    'nor on another route',
  );
});

t.test('a take on a link ends the previous one, whatever worker it names', async (t) => {
  const agent = await linked(t);
  const old = (await AgentLink.open(agent.url(), { 'user-agent': 'RunPod-Python-SDK/1.0.0' }))!;
  const first = old.ask(FrameKind.TAKE, '1 1 0');
  await waitFor('the take', agent.asks);
  const second = old.ask(FrameKind.TAKE, '1 1 0');
  t.ok((await first).empty);
  t.equal(agent.polls.takes('w').length, 1);
  agent.assign(agent.refOf('a', 'w'));
  t.notOk((await second).empty);
});

/** Starts slipway-worker at concurrency 1. Its results are safe only once the test acknowledges them. */
async function realWorker(t: Test) {
  const agent = await linked(t, { diskAfterMs: 10 });
  const at = (route: string, tail = ''): string =>
    `${agent.bridge.url}/v2/e/${agent.pool.get('w')!.token}/${route}/$RUNPOD_POD_ID${tail}?gpu=x`;
  const [command, ...args] = jsHandler('all.js');
  const worker = spawn(command!, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      RUNPOD_POD_ID: 'w',
      RUNPOD_WEBHOOK_GET_JOB: at('job-take'),
      RUNPOD_WEBHOOK_PING: at('ping'),
      RUNPOD_WEBHOOK_POST_OUTPUT: at('job-done', '/$ID'),
      RUNPOD_WEBHOOK_POST_STREAM: at('job-stream', '/$ID'),
    },
  });
  const ended = once(worker, 'exit');
  t.teardown(() => worker.kill('SIGKILL'));
  await waitFor('its take', agent.asks);
  const give = (job: string, input: object): void => {
    agent.intake.assign([
      {
        ref: agent.refOf(job, 'w'),
        input: Buffer.from(JSON.stringify(input)),
        inputSize: 2,
        s3Config: undefined,
        ahead: false,
      },
    ]);
  };
  const returned = (job: string) => waitFor(`the result of ${job}`, () => agent.parts.outcomes.has(`e/${job}/1`));
  return { ...agent, worker, ended, give, returned };
}

t.test('a worker starts its next job while a result is being stored', async (t) => {
  const agent = await realWorker(t);
  for (const job of ['a', 'b']) agent.give(job, { mode: 'echo' });
  await agent.returned('a');
  await agent.returned('b');
  await waitFor('another take', agent.asks);
  // Written at the same time, were they written as soon as this one.
  const waitedFor = agent.parts.outcomes.report(outcomeOf('waited for'));
  for (let tenth = 0; tenth < 3; tenth += 1) agent.clock.pass(10);
  await waitedFor;
  t.equal(agent.spool.size, 1, 'neither is on the disk, and core has acknowledged neither');
  agent.parts.outcomes.acknowledge(refOf('waited for'));
  agent.worker.kill('SIGTERM');
  for (const job of ['a', 'b']) agent.parts.outcomes.acknowledge(agent.refOf(job, 'w'));
  await waitFor('its end', () => {
    for (const take of agent.polls.takes('w')) take.empty();
    return agent.worker.exitCode === 0;
  });
});

t.test('a large posted result keeps its slot until it is stored', async (t) => {
  const agent = await realWorker(t);
  agent.give('a', { mode: 'big', length: 100_000 });
  agent.give('b', { mode: 'echo' });
  await agent.returned('a');
  t.ok(agent.holdings.of('w').waiting > 0);
  t.notOk(agent.asks(), 'and it asks for no other job');
  agent.parts.outcomes.acknowledge(agent.refOf('a', 'w'));
  await agent.returned('b');
});

t.test('a worker to be replaced starts no job while its result is being stored', async (t) => {
  const agent = await realWorker(t);
  agent.give('a', { mode: 'value', value: { refresh_worker: true, done: 1 } });
  agent.give('b', { mode: 'echo' });
  await agent.returned('a');
  agent.parts.outcomes.acknowledge(agent.refOf('a', 'w'));
  t.same(await agent.ended, [0, null]);
  t.match(agent.outcomes().sort(), [
    ['a', OutcomeKind.COMPLETED],
    ['b', OutcomeKind.RETURNED],
  ]);
});

t.test('a request that offers HTTP/2, as some clients do with their first, is answered by HTTP/1.1', async (t) => {
  const agent = await linked(t);
  const { hostname, port, pathname } = new URL(agent.url().replace('job-link', 'ping'));
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  socket.write(
    `GET ${pathname} HTTP/1.1\r\n` +
      'host: x\r\n' +
      'connection: Upgrade, HTTP2-Settings\r\n' +
      'upgrade: h2c\r\n' +
      'http2-settings: AAMAAABk\r\n' +
      '\r\n',
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  t.match(answer.toString('latin1'), /^HTTP\/1\.1 200 /);
});
