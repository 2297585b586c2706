/**
 * Jobs that a worker received beyond those it requested: prefetched, not begun
 * (docs/reference/worker-protocol.md#short-jobs).
 */

import { bodyBudget } from '@slipway/gpu-agent/bridge/raw-body';
import { Bridge } from '@slipway/gpu-agent/bridge/server';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { turn, wired } from './wired.ts';

/** Returns a worker that asked for one job and got three. */
async function threeForOne(t: Test) {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const reported: string[] = [];
  agent.openTake('w', { reported });
  t.match(agent.message()?.workers, [{ capacity: 1, takesAhead: true }]);
  agent.intake.assign(
    ['a', 'b', 'c'].map((job) => ({
      ref: agent.refOf(job, 'w'),
      input: Buffer.from('{}'),
      inputSize: 2,
      s3Config: undefined,
      ahead: job !== 'a',
    })),
  );
  await turn();
  t.same(
    reported.map((body) => (JSON.parse(body) as { id: string }[]).map(({ id }) => id)),
    [['a', 'b', 'c']],
    'one answer',
  );
  const of = (job: string) => agent.holdings.of('w').of(job)!;
  return {
    ...agent,
    of,
    prefetched: () =>
      agent.holdings
        .of('w')
        .prefetched()
        .map(({ ref }) => ref.jobId),
  };
}

t.test('each begins when the previous one ends, and its time counts from then', async (t) => {
  const agent = await threeForOne(t);
  t.same(agent.prefetched(), ['b', 'c']);
  t.match(agent.message()?.workers ?? [], [], 'no room is told of that is not there');
  agent.clock.pass(40);
  await agent.table.end(agent.of('a'), OutcomeKind.COMPLETED);
  t.same(agent.prefetched(), ['c']);
  agent.clock.pass(7);
  await agent.table.end(agent.of('b'), OutcomeKind.COMPLETED);
  const message = agent.message();
  t.match(message?.outcomes, [
    { ref: { jobId: 'a' }, executionMs: 40 },
    { ref: { jobId: 'b' }, executionMs: 7 },
  ]);
  t.same(message?.workers, [], 'its room is as it was');
});

t.test('when its worker ends the running job is lost, prefetched ones return without counting a retry', async (t) => {
  const agent = await threeForOne(t);
  agent.message();
  await agent.exit('w', { signal: 'SIGKILL' });
  t.match(
    agent.message()?.outcomes.map(({ ref, kind }) => [ref!.jobId, kind]),
    [
      ['a', OutcomeKind.LOST],
      ['b', OutcomeKind.RETURNED],
      ['c', OutcomeKind.RETURNED],
    ],
  );
});

t.test('jobs behind a long one are not counted as missing, and are reported as waiting', async (t) => {
  const agent = await threeForOne(t);
  agent.message();
  agent.watch.pass();
  t.equal(agent.message(), undefined, 'not at once');
  agent.clock.pass(60_000);
  agent.of('a').named(agent.clock.monotonicMs());
  agent.evidence.listed(agent.pool.get('w')!, new Set(['a', 'b']));
  agent.watch.pass();
  t.match(agent.message(), { outcomes: [], waiting: [{ jobId: 'b' }, { jobId: 'c' }] });
  agent.watch.pass();
  t.equal(agent.message(), undefined, 'not with every look');
});

t.test('a stop reaches a prefetched job when it begins', async (t) => {
  const agent = await threeForOne(t);
  agent.stopper.stop([{ ref: agent.of('b').ref, reason: '' }]);
  t.same(agent.holdings.of('w').jobsToStop, [], 'the worker could not stop it yet');
  agent.clock.pass(60_000);
  agent.stopper.pass();
  t.notOk(agent.pool.get('w')!.isStopping, 'nor is it killed for what it has not begun');
  await agent.table.end(agent.of('a'), OutcomeKind.COMPLETED);
  agent.stopper.pass();
  t.same(agent.openStopPoll('w'), ['b']);
});

t.test('prefetched jobs do not keep a hanging worker alive', async (t) => {
  const agent = await threeForOne(t);
  agent.stopper.stop([{ ref: agent.of('a').ref, reason: '' }]);
  agent.clock.pass(5_000);
  agent.stopper.pass();
  t.ok(agent.pool.get('w')!.isStopping, 'killed after the grace');
});

/**
 * Starts a bridge and returns a function that posts a worker's result for a job over a real connection. `answered`: the
 * answer came while the worker could still begin another job.
 */
async function withBridge(t: Test) {
  const agent = await threeForOne(t);
  const work = new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock: agent.clock });
  const stopping = new AbortController();
  const parts = {
    ...agent,
    toCore: agent.outbox,
    bodies: bodyBudget(),
    work,
    random: systemRandom,
    logger: createLogger('test', 'silent'),
    stopping: stopping.signal,
  };
  const bridge = new Bridge({ parts, port: 0 });
  await bridge.start();
  t.teardown(async () => {
    stopping.abort();
    await bridge.stop();
  });
  const { token } = agent.pool.get('w')!;
  const done = (job: string, body: object) => {
    const call = { answered: false, over: Promise.resolve() };
    call.over = fetch(`${bridge.url}/v2/e/${token}/job-done/w/${job}`, {
      method: 'POST',
      body: JSON.stringify(body),
    }).then(
      () => {
        call.answered = !agent.executor.of('w')!.asked.includes('kill');
      },
      () => {},
    );
    return call;
  };
  const outcomes = (): unknown[] => (agent.message()?.outcomes ?? []).map(({ ref, kind }) => [ref!.jobId, kind]);
  agent.message();
  return { ...agent, done, outcomes, revoke: (job: string) => agent.stopper.revoke(agent.of(job).ref) };
}

t.test(
  'revoked behind a long job, they return; its result counts and its worker ends without a response',
  async (t) => {
    const agent = await withBridge(t);
    agent.clock.pass(500);
    agent.revoke('b');
    t.same(agent.prefetched(), ['b', 'c'], 'not while its worker goes on with them');
    agent.clock.pass(5_000);
    agent.revoke('a');
    t.same(agent.prefetched(), ['b', 'c'], 'not what has begun');
    agent.revoke('b');
    const message = agent.message();
    t.match(message?.workers, [{ refresh: true, takesAhead: false }]);
    t.match(
      message?.outcomes.map(({ ref, kind }) => [ref!.jobId, kind]),
      [
        ['b', OutcomeKind.RETURNED],
        ['c', OutcomeKind.RETURNED],
      ],
    );
    const progress = agent.done('a', { status: 'IN_PROGRESS', output: 1 });
    await progress.over;
    t.ok(progress.answered, 'what it says meanwhile is answered');
    const result = agent.done('a', { output: 'long' });
    await waitFor('its end', () => agent.executor.of('w')!.asked.includes('kill'));
    await agent.exit('w', { signal: 'SIGKILL' });
    await result.over;
    t.notOk(result.answered, 'it would begin the next');
    t.same(agent.outcomes(), [['a', OutcomeKind.COMPLETED]], 'nothing is lost with the worker');
  },
);

t.test('a worker whose prefetched jobs were revoked gets no stop: it is killed', async (t) => {
  const agent = await withBridge(t);
  agent.clock.pass(5_000);
  agent.revoke('b');
  agent.stopper.stop([{ ref: agent.of('a').ref, reason: '' }]);
  t.same(agent.openStopPoll('w'), [], 'it would begin the next');
  agent.clock.pass(5_000);
  agent.stopper.pass();
  t.ok(agent.pool.get('w')!.isStopping);
});

t.test('nothing is revoked from a worker that is stopping its job', async (t) => {
  const agent = await withBridge(t);
  agent.clock.pass(5_000);
  agent.stopper.stop([{ ref: agent.of('a').ref, reason: '' }]);
  agent.revoke('b');
  t.same(agent.prefetched(), ['b', 'c']);
  await agent.table.end(agent.of('a'), OutcomeKind.STOPPED);
  t.same(agent.prefetched(), ['c']);
});

t.test('a job that stops its pod is the last: prefetched ones return, and the worker gets no response', async (t) => {
  const agent = await withBridge(t);
  const unwanted = agent.of('c').ref;
  agent.stopper.stop([{ ref: unwanted, reason: '' }]);
  const result = agent.done('a', { output: 'last', stopPod: true });
  await waitFor('its end', () => agent.executor.of('w')!.asked.includes('kill'));
  await agent.exit('w', { signal: 'SIGKILL' });
  await result.over;
  t.notOk(result.answered);
  t.same(agent.outcomes(), [
    ['b', OutcomeKind.RETURNED],
    ['c', OutcomeKind.STOPPED],
    ['a', OutcomeKind.COMPLETED],
  ]);
});
