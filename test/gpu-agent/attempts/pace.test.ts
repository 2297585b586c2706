/**
 * Workers of the Python SDK with capacity for several short jobs are kept busy: how much of the capacity is used
 * (docs/reference/worker-protocol.md#short-jobs).
 */

import { PACED_MIN } from '@slipway/gpu-agent/attempts/pace';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { turn, wired } from './wired.ts';

const CAPACITY = 20;

/** Returns a worker that has run three short jobs and reports its capacity with each take. */
async function awake(t: Test, { capacity = CAPACITY, version = '1.12.0' } = {}) {
  const agent = await wired(t);
  const nowMs = agent.clock.monotonicMs.bind(agent.clock);
  let looks = 0;
  // As with a real clock, no two readings are equal.
  agent.clock.monotonicMs = () => nowMs() + (looks += 1) / 1e6;
  await agent.desire({ w: 'e' });
  const worker = agent.pool.get('w')!;
  worker.sdk.setVersion(version);
  const { pace } = agent.holdings.of('w');
  let reported: string[] = [];
  /** Requests jobs for the rest of its capacity. */
  const ask = (requested: number): void => {
    pace.asks(requested, { held: agent.holdings.of('w').size, idle: requested === capacity });
    reported = [];
    agent.openTake('w', { requested, reported });
    agent.handOver.offer(worker);
    agent.reporter.capacityChanged(worker);
  };
  const given = async (): Promise<string[]> => {
    await turn();
    const [body] = reported.splice(0);
    return body === undefined ? [] : [JSON.parse(body) as { id: string } | { id: string }[]].flat().map(({ id }) => id);
  };
  const assign = (...jobs: string[]): void =>
    agent.intake.assign(
      jobs.map((job) => ({
        ref: agent.refOf(job, 'w'),
        input: Buffer.from('{}'),
        inputSize: 2,
        s3Config: undefined,
        ahead: true,
      })),
    );
  /** It sends their results, which are answered once they are safe. */
  const send = async (...jobs: string[]): Promise<void> => {
    const attempts = jobs.map((job) => agent.holdings.of('w').of(job)!);
    await Promise.all(
      attempts.map((attempt) =>
        agent.handOver.whileSent(worker, attempt, () => agent.table.end(attempt, OutcomeKind.COMPLETED)),
      ),
    );
  };
  ask(capacity);
  assign('s1', 's2', 's3');
  await given();
  await send('s1', 's2', 's3');
  ask(capacity);
  agent.message();
  return {
    ...agent,
    worker,
    ask,
    given,
    assign,
    send,
    /** Reports of the worker's capacity to core. */
    capacity: () => agent.reporter.take(worker),
  };
}

const names = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `j${from + index}`);

t.test('a worker gets less than half of its free capacity, and the rest is prefetched', async (t) => {
  const agent = await awake(t);
  t.match(
    agent.capacity(),
    { capacity: CAPACITY - 1, keepsAhead: true, takesAhead: false },
    'for core it holds one less, and more may wait here',
  );
  agent.assign(...names(1, 30));
  t.same(await agent.given(), names(1, 9), 'each takes twice the room until it runs');
  agent.ask(CAPACITY - 18);
  t.same(await agent.given(), [], 'one more could send it to sleep');
  t.match(agent.capacity(), { capacity: CAPACITY - 1 });
});

t.test('a result proves that its batch runs, and frees capacity once answered', async (t) => {
  const agent = await awake(t);
  agent.assign(...names(1, 30));
  await agent.given();
  agent.ask(CAPACITY - 18);
  const [first] = names(1, 1);
  let safe = (): void => undefined;
  const sent = agent.handOver.whileSent(
    agent.worker,
    agent.holdings.of('w').of(first!),
    () =>
      new Promise<void>((resolve) => {
        safe = resolve;
      }),
  );
  t.same(
    await agent.given(),
    names(10, 4),
    '9 of 20 run, and one of them counts until it hears that its result is safe',
  );
  agent.ask(CAPACITY - 9 - 8);
  safe();
  await sent;
  t.same(await agent.given(), [], 'the four may not run yet');
});

t.test('the last few jobs do not wait for others', async (t) => {
  const agent = await awake(t);
  agent.assign(...names(1, 9));
  await agent.given();
  agent.ask(CAPACITY - 18);
  await agent.send(...names(1, 9));
  agent.assign('last');
  t.same(await agent.given(), ['last']);
});

t.test('once a job takes long the worker gets its full capacity, and nothing is prefetched', async (t) => {
  const agent = await awake(t);
  agent.assign(...names(1, 14));
  await agent.given();
  agent.ask(CAPACITY - 9);
  t.same(await agent.given(), []);
  agent.clock.pass(400);
  agent.watch.pass();
  t.same(await agent.given(), []);
  agent.clock.pass(101);
  agent.watch.pass();
  t.same(await agent.given(), names(10, 5), 'all that waited');
  agent.ask(6);
  t.match(agent.capacity(), { capacity: 14 + 6, keepsAhead: false, takesAhead: false });
  await agent.send(...names(1, 9));
  t.match(agent.capacity(), { keepsAhead: false }, 'those were long');
  await agent.send(...names(10, 3));
  t.match(agent.capacity(), { capacity: CAPACITY - 1, keepsAhead: true }, 'until three were short');
});

t.test('an idle worker at its pace counts as full', async (t) => {
  const agent = await awake(t);
  agent.assign(...names(1, 9));
  await agent.given();
  agent.clock.pass(199);
  agent.watch.pass();
  t.match(agent.capacity(), { capacity: CAPACITY - 1 });
  agent.message();
  agent.clock.pass(2);
  agent.watch.pass();
  t.match(agent.message()?.workers, [{ capacity: 9, keepsAhead: false }], 'core hears it');
  agent.ask(11);
  t.match(agent.message()?.workers, [{ capacity: CAPACITY - 1, keepsAhead: true }], 'and when it asks again');
});

for (const other of [{ capacity: PACED_MIN - 1 }, { version: '1.7.13' }]) {
  t.test(`others get lists: ${JSON.stringify(other)}`, async (t) => {
    const agent = await awake(t, other);
    t.match(agent.capacity(), { capacity: other.capacity ?? CAPACITY, takesAhead: true, keepsAhead: false });
    agent.assign(...names(1, 30));
    t.equal((await agent.given()).length, 30);
  });
}
