/** How waiting attempts reach the open takes of a worker, and come back. */

import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { turn, wired } from './wired.ts';

const idsOf = (body: string): string[] =>
  [JSON.parse(body) as { id: string } | { id: string }[]].flat().map(({ id }) => id);

t.test('the oldest first, and only as many as a take asks for', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  for (const job of ['a', 'b', 'c']) agent.assign(agent.refOf(job, 'w'));
  const reported: string[] = [];
  agent.openTake('w', { requested: 2, reported });
  agent.handOver.offer(agent.pool.get('w')!);
  await turn();
  t.same(reported.map(idsOf), [['a', 'b']]);
  t.same(
    agent.table.all().map(({ phase }) => phase),
    ['handed', 'handed', 'waiting'],
  );
  agent.openTake('w', { reported });
  agent.handOver.offer(agent.pool.get('w')!);
  t.same(reported.map(idsOf), [['a', 'b'], ['c']]);
});

t.test('a job whose earlier attempt still runs there waits', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  await agent.give(agent.refOf('job', 'w', 1));
  const reported: string[] = [];
  agent.openTake('w', { reported });
  agent.assign(agent.refOf('job', 'w', 2));
  t.same(reported, [], 'the worker could not tell them apart');
  await agent.table.end(agent.table.all()[0]!, OutcomeKind.COMPLETED, { output: Buffer.from('1') });
  t.same(reported.map(idsOf), [['job']]);
});

t.test('a lost response returns its jobs, except ones the worker has named', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  agent.openTake('w', { requested: 2, delivered: false });
  agent.intake.assign(
    ['lost', 'named'].map((job) => ({
      ref: agent.refOf(job, 'w'),
      input: Buffer.from('{}'),
      inputSize: 2,
      s3Config: undefined,
      ahead: false,
    })),
  );
  agent.holdings.of('w').of('named')!.named(agent.clock.monotonicMs());
  await turn();
  t.match(agent.message()?.outcomes, [
    { ref: { jobId: 'lost' }, kind: OutcomeKind.RETURNED, error: /left before it had the job/ },
  ]);
  t.same(
    agent.table.all().map(({ ref }) => ref.jobId),
    ['named'],
  );
});

t.test('an SDK that starts late gets jobs gathered while it holds others', async (t) => {
  const agent = await wired(t);
  await agent.desire({ w: 'e' });
  agent.pool.get('w')!.sdk.setVersion('1.7.13');
  await agent.give(agent.refOf('first', 'w'));
  const reported: string[] = [];
  agent.openTake('w', { requested: 2, reported });
  for (const job of ['a', 'b']) agent.assign(agent.refOf(job, 'w'));
  t.same(reported, []);
  agent.clock.pass(50);
  t.same(reported.map(idsOf), [['a', 'b']]);
});
