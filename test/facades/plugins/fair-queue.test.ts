/**
 * Requests of accounts that use a facade at the same time: few of each under way, round-robin, and no bound for one
 * that is alone.
 */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { FairQueue } from '@slipway/facades/plugins/limits/fair-queue';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

/** A response that can end. */
class Response extends EventEmitter {
  closed = false;

  end(): void {
    this.closed = true;
    this.emit('close');
  }
}

function facade() {
  const clock = new ManualClock();
  const turns = new FairQueue(clock);
  const begun: string[] = [];
  const open = new Map<string, Response>();
  const ask = async (name: string, { weight = 1, waits = false, hasLargeBody = false } = {}): Promise<void> => {
    const response = new Response();
    response.setMaxListeners(0);
    open.set(name, response);
    const raw = response as unknown as ServerResponse;
    await turns.enter({ accountId: name[0]!, weight, waits, hasLargeBody }, { raw });
    begun.push(name);
  };
  const askLarge = (name: string): Promise<void> => ask(name, { weight: 8, waits: true, hasLargeBody: true });
  const work = (name: string): Promise<() => void> =>
    turns.work({ accountId: name[0]!, weight: 8 }, { raw: open.get(name) as unknown as ServerResponse });
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });
  const end = async (...names: string[]): Promise<void> => {
    for (const name of names) open.get(name)!.end();
    await settled();
  };
  return { clock, turns, begun, ask, askLarge, work, end, settled, open };
}

t.test('a single account has no bound', async (t) => {
  const { begun, ask } = facade();
  for (let i = 0; i < 500; i += 1) await ask(`a${i}`);
  t.equal(begun.length, 500);
});

t.test('beside others an account is bounded, and a new request waits for one of each account', async (t) => {
  const { clock, turns, begun, ask, end, settled } = facade();
  await ask('b0');
  for (let i = 0; i < 100; i += 1) void ask(`a${i}`);
  await settled();
  t.equal(begun.length, 1 + 8);
  await ask('b1');
  t.equal(begun.at(-1), 'b1', 'the other does not wait');
  t.equal(turns.waiting, 92);
  await end('a0', 'a1');
  t.same(begun.slice(-2), ['a8', 'a9'], 'in the order in which they came');
  await end('b0', 'b1');
  clock.pass(3_000);
  await ask('a of later');
  t.equal(begun.at(-1), 'a of later', 'alone again');
});

t.test("heavy requests reduce their account's share, and waiting ones return their slot", async (t) => {
  const { clock, begun, ask, settled } = facade();
  await ask('b');
  for (let i = 0; i < 5; i += 1) void ask(`a${i}`, { weight: Infinity });
  for (let i = 0; i < 20; i += 1) void ask(`c${i}`, { waits: true });
  await settled();
  t.same(
    begun.filter((name) => name[0] === 'a'),
    ['a0'],
  );
  t.equal(begun.filter((name) => name[0] === 'c').length, 8);
  clock.pass(250);
  await settled();
  t.equal(begun.filter((name) => name[0] === 'c').length, 16);
});

t.test('permits of heavy requests rest three times as long as these took, unless the account is alone', async (t) => {
  const { clock, turns, begun, ask, end, settled } = facade();
  await ask('b0');
  for (let i = 0; i < 4; i += 1) void ask(`a${i}`, { weight: 4 });
  await settled();
  const begunOfA = (): number => begun.filter((name) => name[0] === 'a').length;
  t.equal(begunOfA(), 2);
  clock.pass(50);
  await end('a0', 'a1');
  t.equal(begunOfA(), 2, 'both permits rest');
  await ask('b1', { weight: 4 });
  t.equal(begun.at(-1), 'b1', 'another account does not wait for that');
  clock.pass(149);
  await settled();
  t.equal(begunOfA(), 2);
  clock.pass(1);
  await settled();
  t.equal(begunOfA(), 4);
  clock.pass(5_000);
  await end('a2', 'a3');
  await turns.rest('a', 60_000);
  t.pass('nobody else is there');
});

t.test('beside others, one large body of an account arrives or is worked on at a time, and then rests', async (t) => {
  const { clock, turns, begun, ask, askLarge, work, end, settled } = facade();
  const worked: string[] = [];
  const begunOfA = (): string[] => begun.filter((name) => name[0] === 'a');
  await ask('b0');
  for (let i = 0; i < 3; i += 1) void askLarge(`a${i}`);
  await settled();
  t.same(begunOfA(), ['a0']);
  clock.pass(50);
  const ended = await work('a0');
  t.same(begunOfA(), ['a0'], 'its work goes before the next body, and the time of its arrival is no work');
  await askLarge('b1');
  t.equal(begun.at(-1), 'b1', 'another account does not wait for that');
  await end('b1');
  clock.pass(50);
  ended();
  await end('a0');
  void ask('a small');
  clock.pass(150);
  await settled();
  t.same(begunOfA(), ['a0', 'a small'], 'a small request does not wait for the rest after a large body');
  await end('a small');
  clock.pass(1_349);
  await settled();
  t.same(begunOfA(), ['a0', 'a small']);
  clock.pass(1);
  await settled();
  t.same(begunOfA(), ['a0', 'a small', 'a1'], 'thirty times as long as the work');
  // Slow bodies arrive side by side, and are then worked on in turn.
  clock.pass(250);
  await settled();
  t.same(begunOfA().slice(2), ['a1', 'a2']);
  for (const name of ['a1', 'a2'])
    void work(name).then(
      () => worked.push(name),
      () => worked.push(`${name} has gone`),
    );
  await settled();
  t.same(worked, ['a1']);
  await end('a2', 'a1');
  t.same(worked, ['a1', 'a2 has gone']);
  t.equal(turns.waiting, 0);
});

t.test('large bodies of an account rest for a bounded time, and only while another account asks', async (t) => {
  const { clock, begun, ask, askLarge, work, end, settled } = facade();
  const rests = async (name: string, workMs: number): Promise<void> => {
    await askLarge(name);
    const ended = await work(name);
    clock.pass(workMs);
    ended();
    await end(name);
  };
  for (let i = 0; i < 20; i += 1) await rests(`a${i}`, 100);
  t.equal(begun.length, 20, 'alone it never waits');
  await ask('b0');
  await rests('a20', 900);
  void askLarge('a21');
  clock.pass(1_999);
  await settled();
  t.equal(begun.at(-1), 'a20');
  clock.pass(1);
  await settled();
  t.equal(begun.at(-1), 'a21', 'after two seconds at most');
  await end('a21');
  await ask('b1');
  await rests('a22', 1_100);
  void askLarge('a23');
  clock.pass(250);
  await settled();
  t.equal(begun.at(-1), 'a23', 'the other has not asked for a second');
});

t.test('a request never waits for its own permit', async (t) => {
  const { turns, begun, ask, end, settled, open } = facade();
  const large = { accountId: 'a', weight: 8 };
  const raw = (name: string): ServerResponse => open.get(name) as unknown as ServerResponse;
  await ask('b');
  // A compressed body announces a few bytes.
  await ask('a of gzip');
  let isWorked = false;
  const work = turns.work(large, { raw: raw('a of gzip') }).then((ended) => {
    isWorked = true;
    return ended;
  });
  await settled();
  t.equal(isWorked, true);
  // The body names the endpoint, whose limits are checked then.
  t.equal(turns.enter({ ...large, waits: true }, { raw: raw('a of gzip') }), undefined);
  void ask('a2');
  await settled();
  t.notOk(begun.includes('a2'), 'its work occupies the account');
  (await work)();
  await end('a of gzip');
  t.equal(begun.at(-1), 'a2');
});

t.test('accounts that rest hold up no other account', async (t) => {
  const { clock, begun, ask, end } = facade();
  await ask('x');
  const heavy = [...'abcdefgh'];
  for (const name of heavy) await ask(name, { weight: 8 });
  t.same(begun, ['x', ...heavy], 'all weight is in use');
  clock.pass(50);
  await end(...heavy);
  void ask('z');
  await end();
  t.equal(begun.at(-1), 'z');
});

t.test('an account rests no more beside one that asks no more, even if its last request still waits', async (t) => {
  const { clock, begun, ask, end } = facade();
  await ask('b0', { waits: true });
  clock.pass(500);
  await ask('a0', { weight: 8 });
  void ask('a1', { weight: 8 });
  clock.pass(1_600);
  await end('a0');
  t.equal(begun.at(-1), 'a1');
});

t.test('pages of a long list are separated by a bounded rest beside other accounts', async (t) => {
  const { clock, turns, ask, settled } = facade();
  await ask('a0');
  await ask('b0');
  let rested = 0;
  for (const tookMs of [10, 60_000])
    void turns.rest('a', tookMs).then(() => {
      rested += 1;
    });
  await settled();
  t.equal(rested, 0);
  clock.pass(89);
  await settled();
  t.equal(rested, 0);
  clock.pass(1);
  await settled();
  t.equal(rested, 1);
  clock.pass(160);
  await settled();
  t.equal(rested, 2);
});

t.test('slow readers and senders delay their account for a bounded time', async (t) => {
  const { clock, begun, ask, settled } = facade();
  await ask('b');
  for (let i = 0; i < 10; i += 1) void ask(`a${i}`);
  await settled();
  t.equal(begun.filter((name) => name[0] === 'a').length, 8);
  clock.pass(2_000);
  await settled();
  t.equal(begun.filter((name) => name[0] === 'a').length, 10);
});

t.test('a client that leaves while queued causes no work and uses no capacity', async (t) => {
  const { turns, ask, end, settled } = facade();
  await ask('b');
  const asked = Array.from({ length: 20 }, (_, i) =>
    ask(`a${i}`).then(
      () => 'begun',
      (error: Error) => error.message,
    ),
  );
  await settled();
  await end(...Array.from({ length: 12 }, (_, i) => `a${i + 8}`));
  t.equal(turns.waiting, 0);
  t.same(
    (await Promise.all(asked)).slice(8),
    Array.from({ length: 12 }, () => 'The client has gone.'),
  );
});
