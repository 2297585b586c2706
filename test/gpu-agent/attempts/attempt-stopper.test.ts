/** A stop is for one attempt of a job: however late the worker's next stop poll comes, no other attempt receives it. */

import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { turn, wired } from './wired.ts';

t.test('a stop that a poll carries', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const ref = agent.refOf('job', 'w');
  await agent.give(ref);
  agent.stopper.stop([{ ref, reason: '' }]);
  t.same(agent.openStopPoll('w'), ['job']);
  t.same(agent.openStopPoll('w'), [], 'once');
});

t.test('a stop that no poll carried goes with its attempt', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const first = agent.refOf('job', 'w', 1);
  await agent.give(first);
  agent.stopper.stop([{ ref: first, reason: '' }]);
  await agent.table.end(agent.table.all()[0]!, OutcomeKind.STOPPED);
  t.same(agent.holdings.of('w').jobsToStop, [], 'the worker is told nothing about a job that it has finished');
  await agent.give(agent.refOf('job', 'w', 2));
  t.equal(agent.table.all()[0]?.phase, 'handed');
  t.same(agent.openStopPoll('w'), [], 'nor about its next attempt');
});

t.test('a lost stop is repeated to its own attempt only', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const first = agent.refOf('job', 'w', 1);
  await agent.give(first);
  agent.stopper.stop([{ ref: first, reason: '' }]);
  agent.openStopPoll('w', false);
  await turn();
  const [attempt] = agent.table.all();
  t.same(agent.holdings.of('w').jobsToStop, ['job'], 'it is still to be told');
  agent.openStopPoll('w', false);
  const ended = agent.table.end(attempt!, OutcomeKind.STOPPED);
  const given = agent.give(agent.refOf('job', 'w', 2));
  await Promise.all([ended, given, turn()]);
  t.same(agent.openStopPoll('w'), []);
});

t.test('a stop of what the agent has ended itself reaches the worker, unless it has the job again', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const worker = agent.pool.get('w')!;
  for (const attempt of [1, 2]) {
    await agent.give(agent.refOf('job', 'w', attempt));
    // As for a streamed value that is too large.
    await agent.table.end(agent.table.all()[0]!, OutcomeKind.FAILED, { error: 'too large' });
    agent.stopper.signal(worker, 'job');
    if (attempt === 1) t.same(agent.openStopPoll('w'), ['job']);
  }
  await agent.give(agent.refOf('job', 'w', 3));
  t.same(agent.openStopPoll('w'), []);
});

t.test('a stop that comes with its job is sent after it', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const ref = agent.refOf('job', 'w');
  const given = agent.give(ref);
  agent.stopper.stop([{ ref, reason: '' }]);
  t.same(agent.holdings.of('w').jobsToStop, [], 'the answer with the job is still being written');
  await given;
  agent.stopper.pass();
  t.same(agent.openStopPoll('w'), ['job']);
});

t.test('a stop that the worker may have read before its job is sent again if it does not stop the job', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const [ref, worker] = [agent.refOf('job', 'w'), agent.pool.get('w')!];
  await agent.give(ref);
  agent.stopper.stop([{ ref, reason: '' }]);
  t.same(agent.openStopPoll('w'), ['job']);
  agent.stopper.pass();
  t.same(agent.holdings.of('w').jobsToStop, [], 'it has not named the job');
  agent.evidence.listed(worker, new Set(['job']));
  agent.clock.pass(1_900);
  agent.stopper.pass();
  t.same(agent.holdings.of('w').jobsToStop, [], 'its handler may be cleaning up: a second cancel would interrupt that');
  agent.clock.pass(200);
  agent.stopper.pass();
  t.same(agent.openStopPoll('w'), ['job']);
  agent.stopper.pass();
  t.same(agent.holdings.of('w').jobsToStop, [], 'once');
});

t.test('a stop that came after the worker had read its job is sent once', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const [ref, worker] = [agent.refOf('job', 'w'), agent.pool.get('w')!];
  await agent.give(ref);
  agent.table.all()[0]!.answerEnded(agent.clock.monotonicMs());
  agent.stopper.stop([{ ref, reason: '' }]);
  t.same(agent.openStopPoll('w'), ['job']);
  agent.evidence.listed(worker, new Set(['job']));
  agent.clock.pass(2_100);
  agent.stopper.pass();
  t.same(agent.openStopPoll('w'), []);
});
