/**
 * Prefetched jobs of a worker of our own SDK: they wait in the agent until the worker requests them
 * (docs/reference/worker-protocol.md#short-jobs).
 */

import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { turn, wired } from './wired.ts';

/** Returns a worker that runs one job at a time, has one and finds two more here. */
async function twoKept(t: Test) {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  agent.pool.get('w')!.sdk.setVersion('slipway-0.1.0');
  const reported: string[] = [];
  const ask = (): void => {
    agent.polls.declare('w', 1);
    agent.openTake('w', { reported });
    agent.handOver.offer(agent.pool.get('w')!);
  };
  ask();
  t.match(agent.message()?.workers, [{ capacity: 1, keepsAhead: true, takesAhead: false }]);
  const assign = (job: string, ahead: boolean, input = [Buffer.from('{}')]): void => {
    agent.intake.assign([{ ref: agent.refOf(job, 'w'), input: input[0], inputSize: 2, s3Config: undefined, ahead }]);
  };
  assign('a', false);
  for (const job of ['b', 'c']) assign(job, true);
  await turn();
  t.same(reported, ['{"id":"a","input":{}}'], 'the worker gets what it asked for');
  return { ...agent, reported, ask, assign, of: (job: string) => agent.holdings.of('w').of(job)! };
}

const ends = (message: { outcomes: { ref?: { jobId: string } | undefined; kind: OutcomeKind }[] } | undefined) =>
  message?.outcomes.map(({ ref, kind }) => [ref!.jobId, kind]);

t.test('each prefetched job starts when the worker takes it, and its time counts from then', async (t) => {
  const agent = await twoKept(t);
  agent.clock.pass(500);
  await agent.table.end(agent.of('a'), OutcomeKind.COMPLETED);
  agent.message();
  agent.ask();
  await turn();
  t.equal(agent.reported.at(-1), '{"id":"b","input":{}}');
  agent.clock.pass(7);
  await agent.table.end(agent.of('b'), OutcomeKind.COMPLETED);
  t.match(agent.message()?.outcomes, [{ ref: { jobId: 'b' }, executionMs: 7 }]);
});

t.test('jobs prefetched for an ended worker return without counting a retry', async (t) => {
  const agent = await twoKept(t);
  agent.message();
  await agent.exit('w', { signal: 'SIGKILL' });
  t.same(ends(agent.message()), [
    ['b', OutcomeKind.RETURNED],
    ['c', OutcomeKind.RETURNED],
    ['a', OutcomeKind.LOST],
  ]);
});

t.test('a cancelled prefetched job ends at once, without its worker', async (t) => {
  const agent = await twoKept(t);
  agent.message();
  agent.stopper.stop([{ ref: agent.refOf('b', 'w'), reason: '' }]);
  t.same(ends(agent.message()), [['b', OutcomeKind.STOPPED]]);
  t.same(agent.openStopPoll('w'), []);
});

t.test('jobs behind a long one are reported as waiting, then returned', async (t) => {
  const agent = await twoKept(t);
  agent.message();
  agent.clock.pass(1_900);
  agent.watch.pass();
  t.equal(agent.message(), undefined, 'not at once');
  agent.clock.pass(200);
  agent.watch.pass();
  t.match(agent.message(), { outcomes: [], waiting: [{ jobId: 'b' }, { jobId: 'c' }] });
  agent.clock.pass(1_000);
  agent.watch.pass();
  const message = agent.message();
  t.same(ends(message), [
    ['b', OutcomeKind.RETURNED],
    ['c', OutcomeKind.RETURNED],
  ]);
  t.match(message?.workers ?? [], [], 'the worker keeps the long one, and its room');
});

t.test('a missing input is not fetched for prefetch', async (t) => {
  const agent = await twoKept(t);
  agent.message();
  agent.assign('large', true, []);
  t.same(ends(agent.message()), [['large', OutcomeKind.RETURNED]]);
});
