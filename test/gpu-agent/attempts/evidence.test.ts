/** What pings and takes of a worker prove about the jobs that it was given. */
import t from 'tap';
import type { Test } from 'tap';
import { OutcomeKind } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { wired } from './wired.ts';

/** A worker with one job. */
async function holding(t: Test, version = '1.12.0') {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const worker = agent.pool.get('w')!;
  worker.sdk.learn(version);
  await agent.give(agent.refOf('job', 'w'));
  agent.message();
  const outcomes = () => (agent.message()?.outcomes ?? []).map(({ kind, error }) => ({ kind, error }));
  return { ...agent, worker, outcomes, ping: (...jobs: string[]) => agent.evidence.listed(worker, new Set(jobs)) };
}

t.test('a job that is named goes on, one that is named no more is lost after 30 s', async (t) => {
  const { clock, ping, outcomes } = await holding(t);
  ping('job');
  clock.pass(30_000);
  ping();
  t.same(outcomes(), []);
  clock.pass(1);
  ping();
  t.match(outcomes(), [{ kind: OutcomeKind.LOST, error: /stopped working on the job without returning a result/ }]);
});

t.test('a job that was never named is lost, and one that should stop has stopped soon', async (t) => {
  const never = await holding(t);
  never.clock.pass(30_001);
  never.ping();
  t.match(never.outcomes(), [{ kind: OutcomeKind.LOST, error: /never confirmed it/ }]);
  const stopped = await holding(t);
  stopped.stopper.stop([{ ref: stopped.refOf('job', 'w'), reason: '' }]);
  stopped.clock.pass(2_000);
  stopped.ping();
  t.same(stopped.outcomes(), [], 'its list may be a moment old');
  stopped.clock.pass(1);
  stopped.ping();
  t.match(stopped.outcomes(), [{ kind: OutcomeKind.STOPPED }]);
});

t.test('a take of a worker that says it holds nothing ends what it was given', async (t) => {
  const { evidence, worker, outcomes } = await holding(t);
  evidence.idle(worker);
  t.match(outcomes(), [{ kind: OutcomeKind.LOST, error: /asked for new jobs without having returned a result/ }]);
});

t.test('an SDK whose lists cannot be believed proves nothing by them', async (t) => {
  const { evidence, worker, clock, ping, outcomes } = await holding(t, '1.9.0');
  t.notOk(worker.sdk.traits.listsJobs);
  clock.pass(60_000);
  ping();
  evidence.idle(worker);
  t.same(outcomes(), []);
});
