/** The end of a worker is reported after all results of its attempts, and no other report waits for that. */
import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { wired } from './wired.ts';

const { DRAINING, READY, UNHEALTHY } = WorkerState;

/** Returns an agent with two workers: one has crashed with a large result on the disk, the other continues. */
async function crashed(t: Test) {
  const agent = await wired(t);
  const { table, message, refOf } = agent;
  await agent.desire({ ends: 'e', stays: 'e' });
  const [large, small] = [refOf('large', 'ends'), refOf('small', 'ends')];
  await agent.give(large);
  await agent.give(small);
  message();
  const [first] = table.all();
  await table.end(first!, OutcomeKind.COMPLETED, { output: Buffer.from(JSON.stringify('x'.repeat(300_000))) });
  await agent.exit('ends', { code: 1 });
  agent.reporter.changed(agent.pool.get('stays')!);
  /** Returns the worker reports of the next message. */
  const reported = (): Partial<WorkerReport>[] =>
    (message()?.workers ?? []).map(({ workerId, state, capacity }) => ({ workerId, state, capacity }));
  return { ...agent, large, small, reported };
}

t.test('a crashed worker drains until core has all of its outcomes', async (t) => {
  const { reported, outcomes, pool, reporter, large, small } = await crashed(t);
  t.same(
    reported(),
    [
      { workerId: 'ends', state: DRAINING, capacity: 0 },
      { workerId: 'stays', state: READY, capacity: 0 },
    ],
    'it gets no more work, and the other one does not wait for it',
  );
  outcomes.acknowledge(small);
  t.same(reported(), []);
  const ends = pool.get('ends')!;
  t.match(
    reporter.take(ends),
    { state: DRAINING, reason: '', exitCode: undefined },
    'nor does a hello say that it has ended',
  );
  outcomes.acknowledge(large);
  t.same(reported(), [{ workerId: 'ends', state: UNHEALTHY, capacity: 0 }]);
  t.match(reporter.take(ends), { exitCode: 1, reason: /code 1/ });
});

t.test('its end is reported although core has dropped it', async (t) => {
  const { reported, desire, outcomes, pool, large, small } = await crashed(t);
  await desire({ stays: 'e' });
  reported();
  for (const ref of [small, large]) outcomes.acknowledge(ref);
  t.same(reported(), [{ workerId: 'ends', state: UNHEALTHY, capacity: 0 }]);
  await desire({ stays: 'e' });
  t.equal(pool.get('ends'), undefined, 'and then it is forgotten');
});

t.test('a result that cannot be read from the disk counts as lost in the end', async (t) => {
  const { reported, folder, spool, message, outcomes, large, small } = await crashed(t);
  message();
  await waitFor('both outcomes to be on the disk', () => spool.size === 2);
  for (const file of readdirSync(folder)) truncateSync(join(folder, file), 100);
  const key = attemptKey(large);
  for (let tries = 1; tries < 5; tries += 1) await t.rejects(outcomes.load(key), { message: /shorter/ });
  t.equal(await outcomes.load(key), undefined);
  t.match(message()?.outcomes, [{ ref: large, kind: OutcomeKind.LOST, error: /could not be read/ }]);
  for (const ref of [small, large]) outcomes.acknowledge(ref);
  t.same(reported(), [{ workerId: 'ends', state: UNHEALTHY, capacity: 0 }]);
});
