/**
 * Long lists of operations: a further page rests first for as long as the latest took, nothing is read for a client
 * that has gone, and accounts take turns.
 */
import { LargeRead, largeReads } from '@slipway/facades/graphql/large-reads';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

t.test('a further page rests for as long as the latest page took, the first page of a list for nothing', async (t) => {
  const clock = new ManualClock();
  const steps: string[] = [];
  const rest = async (tookMs: number): Promise<void> => {
    steps.push(`rest of ${tookMs}`);
  };
  const read = new LargeRead(largeReads(), { accountId: 'a', rest, isWanted: () => true }, clock);
  const page = (name: string, ms: number): Promise<string> =>
    read.page(name !== '1', async () => {
      steps.push(name);
      clock.pass(ms);
      return name;
    });
  t.equal(await page('1', 30), '1');
  t.equal(await page('2', 70), '2');
  t.equal(await page('3', 10), '3');
  t.equal(await page('1', 10), '1');
  t.same(steps, ['1', 'rest of 30', '2', 'rest of 70', '3', '1']);
});

/** Returns an operation of an account, and how its wait for a turn ended. */
function operationOf(accountId: string, permits: ReturnType<typeof largeReads>, clock: ManualClock) {
  const caller = { accountId, rest: async () => undefined, isWanted: () => true };
  const read = new LargeRead(permits, caller, clock);
  let ended: unknown = 'waits';
  read.enter().then(
    (waited) => {
      ended = { waited };
    },
    (error: unknown) => {
      ended = error;
    },
  );
  return { leave: () => read.leave(), ended: () => ended };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('an account waits longer for others than for itself', async (t) => {
  const clock = new ManualClock();
  const permits = largeReads();
  const [a, b, c] = ['a', 'b', 'c'].map((accountId) => operationOf(accountId, permits, clock));
  const again = operationOf('a', permits, clock);
  await turn();
  t.same([a!.ended(), b!.ended()], [{ waited: false }, { waited: false }]);
  clock.pass(21_000);
  await turn();
  t.match(again.ended(), { reason: 'RATE_LIMITED' }, 'its other document has its turn');
  t.equal(c!.ended(), 'waits');
  const d = operationOf('d', permits, clock);
  b!.leave();
  await turn();
  t.same(c!.ended(), { waited: true });
  clock.pass(61_000);
  await turn();
  t.match(d.ended(), { reason: 'UNAVAILABLE', message: /Other accounts/ });
  for (const { leave } of [a!, c!]) leave();
  const last = ['d', 'a'].map((accountId) => operationOf(accountId, permits, clock));
  await turn();
  t.same(
    last.map(({ ended }) => ended()),
    [{ waited: false }, { waited: false }],
    'waits that ended hold nothing',
  );
});

t.test('nothing more is read for a client that has gone', async (t) => {
  let isHere = true;
  const caller = { accountId: 'a', rest: async () => undefined, isWanted: () => isHere };
  const read = new LargeRead(largeReads(), caller, new ManualClock());
  t.equal(await read.page(false, async () => 1), 1);
  isHere = false;
  await t.rejects(
    read.page(true, async () => t.fail('it was read')),
    { message: 'The client has gone.' },
  );
});

t.test('a field that still reads after the end of its operation takes no turn', async (t) => {
  const clock = new ManualClock();
  const permits = largeReads();
  const caller = { accountId: 'a', rest: async () => undefined, isWanted: () => true };
  const read = new LargeRead(permits, caller, clock);
  read.leave();
  await t.rejects(read.enter(), { message: 'The operation has ended.' });
  await t.rejects(
    read.page(true, async () => t.fail('it was read')),
    { message: 'The operation has ended.' },
  );
  const next = operationOf('a', permits, clock);
  await turn();
  t.same(next.ended(), { waited: false });
});
