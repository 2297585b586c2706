/** Jobs that a worker got beyond what it asked for: in its hand, not begun (docs/worker-protocol.md#short-jobs). */
import t from 'tap';
import type { Test } from 'tap';
import { OutcomeKind } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { turn, wired } from './wired.ts';

/** A worker that asked for one job and got three. */
async function threeForOne(t: Test) {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const told: string[] = [];
  agent.openTake('w', { told });
  t.match(agent.message()?.workers, [{ capacity: 1, takesAhead: true }]);
  agent.intake.assign(['a', 'b', 'c'].map((job) => (
    { ref: agent.refOf(job, 'w'), input: Buffer.from('{}'), inputSize: 2, s3Config: undefined, ahead: job !== 'a' }
  )));
  await turn();
  t.same(told.map((body) => (JSON.parse(body) as { id: string }[]).map(({ id }) => id)), [['a', 'b', 'c']], 'one answer');
  const of = (job: string) => agent.holdings.of('w').of(job)!;
  return { ...agent, of, inHand: () => agent.holdings.of('w').inHand().map(({ ref }) => ref.jobId) };
}

t.test('each begins when the one before it ends, and its time counts from then', async (t) => {
  const agent = await threeForOne(t);
  t.same(agent.inHand(), ['b', 'c']);
  t.match(agent.message()?.workers ?? [], [], 'no room is told of that is not there');
  agent.clock.pass(40);
  await agent.table.end(agent.of('a'), OutcomeKind.COMPLETED);
  t.same(agent.inHand(), ['c']);
  agent.clock.pass(7);
  await agent.table.end(agent.of('b'), OutcomeKind.COMPLETED);
  const message = agent.message();
  t.match(message?.outcomes, [{ ref: { jobId: 'a' }, executionMs: 40 }, { ref: { jobId: 'b' }, executionMs: 7 }]);
  t.same(message?.workers, [], 'its room is as it was');
});

t.test('with its worker what runs is lost, what is in hand goes back uncounted', async (t) => {
  const agent = await threeForOne(t);
  agent.message();
  await agent.exit('w', { signal: 'SIGKILL' });
  t.match(agent.message()?.outcomes.map(({ ref, kind }) => [ref!.jobId, kind]), [
    ['a', OutcomeKind.LOST], ['b', OutcomeKind.RETURNED], ['c', OutcomeKind.RETURNED],
  ]);
});

t.test('behind a long one none is missed, and core hears that they wait', async (t) => {
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

t.test('a stop reaches it when it begins', async (t) => {
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

t.test('what is in hand does not keep a worker alive that hangs', async (t) => {
  const agent = await threeForOne(t);
  agent.stopper.stop([{ ref: agent.of('a').ref, reason: '' }]);
  agent.clock.pass(5_000);
  agent.stopper.pass();
  t.ok(agent.pool.get('w')!.isStopping, 'killed after the grace');
});
