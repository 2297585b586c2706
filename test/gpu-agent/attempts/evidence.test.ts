/** A worker's pings and takes as evidence about its jobs. */

import { LossCause, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { turn, wired } from './wired.ts';

/** Returns a worker with one job. */
async function holding(t: Test, version = '1.12.0') {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const worker = agent.pool.get('w')!;
  worker.sdk.setVersion(version);
  await agent.give(agent.refOf('job', 'w'));
  agent.message();
  const outcomes = () => (agent.message()?.outcomes ?? []).map(({ kind, error, cause }) => ({ kind, error, cause }));
  return { ...agent, worker, outcomes, ping: (...jobs: string[]) => agent.evidence.listed(worker, new Set(jobs)) };
}

t.test('a job that the worker names continues, one no longer named is lost after 30 s', async (t) => {
  const { clock, ping, outcomes } = await holding(t);
  ping('job');
  clock.pass(30_000);
  ping();
  t.same(outcomes(), []);
  clock.pass(1);
  ping();
  t.match(outcomes(), [{ kind: OutcomeKind.LOST, error: /stopped working on the job without returning a result/ }]);
});

t.test('a job never named is lost, and a stopped one ends soon', async (t) => {
  const never = await holding(t);
  never.evidence.takes(never.worker, false);
  never.clock.pass(30_001);
  never.ping();
  t.match(never.outcomes(), [{ kind: OutcomeKind.LOST, error: /never confirmed it/ }]);
  const stopped = await holding(t);
  stopped.evidence.takes(stopped.worker, false);
  stopped.stopper.stop([{ ref: stopped.refOf('job', 'w'), reason: '' }]);
  stopped.clock.pass(2_000);
  stopped.ping();
  t.same(stopped.outcomes(), [], 'its list may be a moment old');
  stopped.clock.pass(1);
  stopped.ping();
  t.match(stopped.outcomes(), [{ kind: OutcomeKind.STOPPED }]);
});

t.test('a take of a worker without jobs ends its attempts, once its output had time to give the reason', async (t) => {
  const { evidence, worker, clock, outcomes } = await holding(t);
  evidence.takes(worker, true);
  t.same(outcomes(), []);
  clock.pass(1_000);
  t.match(outcomes(), [{ kind: OutcomeKind.LOST, error: /asked for new jobs without having returned a result/ }]);
});

t.test(
  'a job whose result the worker could not send has failed with the reason, and another attempt is not made',
  async (t) => {
    const sent = { jobId: 'job', reason: 'Object of type bytes is not JSON serializable', over: false };
    const over = { jobId: 'job', reason: undefined, over: true };
    const failed = [
      { kind: OutcomeKind.FAILED, error: /could not send .*: Object of type bytes is not JSON serializable/ },
    ];
    const reported = await holding(t);
    reported.evidence.resultLine(reported.worker, sent);
    t.same(reported.outcomes(), [], 'it may have been a progress value');
    reported.evidence.resultLine(reported.worker, over);
    t.match(reported.outcomes(), failed);
    const idle = await holding(t);
    idle.evidence.takes(idle.worker, true);
    idle.evidence.resultLine(idle.worker, sent);
    idle.clock.pass(1_000);
    t.match(idle.outcomes(), failed, 'a take may be here before the output');
    const unnamed = await holding(t);
    unnamed.evidence.takes(unnamed.worker, false);
    unnamed.evidence.resultLine(unnamed.worker, sent);
    unnamed.clock.pass(30_001);
    unnamed.ping('another');
    t.match(unnamed.outcomes(), failed);
  },
);

t.test('log lines about other jobs or failed requests end nothing', async (t) => {
  const { evidence, worker, clock, outcomes } = await holding(t);
  evidence.resultLine(worker, { jobId: 'another', reason: 'made up', over: true });
  evidence.resultLine(worker, { jobId: 'job', reason: undefined, over: true });
  evidence.resultLine(worker, { jobId: 'job', reason: 'progress', over: false });
  evidence.resultLine(worker, { jobId: 'job', reason: '', over: false });
  evidence.resultLine(worker, { jobId: 'job', reason: undefined, over: true });
  t.same(outcomes(), []);
  evidence.takes(worker, true);
  clock.pass(1_000);
  t.match(outcomes(), [{ kind: OutcomeKind.LOST }], 'another attempt may reach the agent');
});

t.test('lists of an unreliable SDK are no evidence', async (t) => {
  const { evidence, worker, clock, ping, outcomes } = await holding(t, '1.9.0');
  t.notOk(worker.sdk.traits.listsJobs);
  clock.pass(60_000);
  ping();
  evidence.takes(worker, true);
  t.same(outcomes(), []);
});

t.test('a job in a possibly unread response is never lost by time alone', async (t) => {
  for (const version of ['1.12.0', '1.9.0', '1.5.0', 'slipway-0.1.0']) {
    const { worker, clock, ping, outcomes, watch } = await holding(t, version);
    for (let minute = 0; minute < 10; minute += 1) {
      clock.pass(60_000);
      ping('another');
      watch.pass();
    }
    t.same(outcomes(), [], version);
    t.equal(worker.hasEnded, false);
  }
});

t.test('once the worker has taken again, the job has its time to be named, from then on', async (t) => {
  const { evidence, worker, clock, ping, outcomes } = await holding(t);
  clock.pass(70_000);
  ping('another');
  evidence.takes(worker, false);
  ping('another');
  t.same(outcomes(), [], 'the list may be a moment old');
  clock.pass(30_000);
  ping('another', 'job');
  clock.pass(30_001);
  ping('another');
  t.match(outcomes(), [{ kind: OutcomeKind.LOST, error: /stopped working/ }]);
  const lost = await holding(t);
  lost.clock.pass(70_000);
  lost.evidence.takes(lost.worker, false);
  lost.clock.pass(30_001);
  lost.ping('another');
  t.match(lost.outcomes(), [{ kind: OutcomeKind.LOST, error: /never confirmed it/ }]);
});

t.test('an older SDK has read the answer once its connection carries something else', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  const worker = agent.pool.get('w')!;
  worker.sdk.setVersion('1.5.0');
  const over: (() => void)[] = [];
  agent.openTake('w', { over });
  agent.assign(agent.refOf('job', 'w'));
  await turn();
  agent.clock.pass(60_001);
  for (const listener of over) listener();
  agent.watch.pass();
  t.equal(agent.table.size, 1);
  agent.clock.pass(60_001);
  agent.watch.pass();
  t.match(agent.message()?.outcomes, [{ kind: OutcomeKind.LOST, error: /went silent/ }]);
});

t.test('an unread job is reported as prefetched, delays no kill and returns without counting a retry', async (t) => {
  const { clock, ping, message, watch, exit, holdings, table } = await holding(t);
  clock.pass(2_001);
  ping('another');
  t.equal(holdings.get('w')?.holdsWanted, false);
  watch.pass();
  t.match(message()?.waiting, [{ jobId: 'job' }], 'its execution timeout begins when it does');
  clock.pass(60_000);
  ping('job');
  t.equal(table.all()[0]?.beganAtMs, clock.monotonicMs(), 'it has begun by now');
  const unread = await holding(t);
  unread.clock.pass(2_001);
  unread.ping('another');
  await unread.exit('w');
  t.match(unread.outcomes(), [{ kind: OutcomeKind.RETURNED }]);
  await exit('w');
});

t.test('a worker out of memory with one job, and with two', async (t) => {
  const { exit, outcomes } = await holding(t);
  await exit('w', { code: undefined, signal: 'SIGKILL', outOfMemory: true });
  t.match(outcomes(), [
    { kind: OutcomeKind.LOST, cause: LossCause.OUT_OF_MEMORY, error: /ran out of memory while it held the job/ },
  ]);
  const two = await holding(t);
  await two.give(two.refOf('other', 'w'));
  await two.exit('w', { code: undefined, signal: 'SIGKILL', outOfMemory: true });
  t.match(
    two.outcomes(),
    [
      { kind: OutcomeKind.LOST, cause: undefined },
      { kind: OutcomeKind.LOST, cause: undefined },
    ],
    'nobody knows which of them it was',
  );
});

t.test('the stop of an unread job arrives once it was read', async (t) => {
  const { clock, ping, outcomes, stopper, refOf, openStopPoll } = await holding(t);
  clock.pass(2_001);
  ping('another');
  stopper.stop([{ ref: refOf('job', 'w'), reason: '' }]);
  clock.pass(4_000);
  ping('another');
  t.same(outcomes(), [], 'it would begin, and nobody could stop it');
  ping('job');
  stopper.pass();
  t.same(openStopPoll('w'), ['job']);
});
