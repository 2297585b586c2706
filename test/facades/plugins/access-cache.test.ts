/** Decisions on keys: one question for many requests, and no decision older than it may be. */

import { AccessCache } from '@slipway/facades/plugins/limits/access-cache';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const GOOD = { accountId: 'user_1', keyId: 'k', endpointType: 1, workersRunning: 2, validMs: 60_000 } as const;

function setup(answer: () => Promise<typeof GOOD>) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const cache = new AccessCache(({ apiKey, endpointId, write }) => {
    asked.push(`${apiKey} ${endpointId} ${write}`);
    return answer();
  }, clock);
  const look = (apiKey: string, endpointId: string, write: boolean, api: Api = Api.JOBS) =>
    cache.check({ apiKey, endpointId, write, api });
  const live = () => cache.checkLive({ apiKey: 'key', endpointId: 'e', write: true, api: Api.JOBS });
  return { look, live, clock, asked };
}

t.test('a positive decision is kept, at most 5 s whatever core allows', async (t) => {
  const { look, clock, asked } = setup(async () => GOOD);
  t.same(await look('key', 'e', true), GOOD);
  clock.pass(4_999);
  t.same(look('key', 'e', true), GOOD, 'without waiting');
  clock.pass(1);
  await look('key', 'e', true);
  t.same(asked, ['key e true', 'key e true']);
});

t.test('no longer than core allows', async (t) => {
  const { look, clock, asked } = setup(async () => ({ ...GOOD, validMs: 100 as 60_000 }));
  await look('key', 'e', false);
  clock.pass(100);
  await look('key', 'e', false);
  t.equal(asked.length, 2);
});

t.test('key, endpoint and right are cached separately', async (t) => {
  const { look, asked } = setup(async () => GOOD);
  await Promise.all([
    look('a', 'e', true),
    look('a', 'e', false),
    look('a', 'f', true),
    look('b', 'e', true),
    look('a', 'e', true, Api.MANAGEMENT),
  ]);
  t.equal(asked.length, 5);
});

t.test('many requests cause one call', async (t) => {
  const { look, asked } = setup(async () => GOOD);
  await Promise.all(Array.from({ length: 50 }, () => look('key', 'e', true)));
  t.equal(asked.length, 1);
});

t.test('a negative decision is kept for 1 s', async (t) => {
  for (const reason of ['UNAUTHORIZED', 'ENDPOINT_NOT_FOUND'] as const) {
    const { look, clock, asked } = setup(async () => {
      throw new CoreError(reason, 'no');
    });
    t.match(await look('key', 'e', true), { reason });
    clock.pass(999);
    t.match(look('key', 'e', true), { reason });
    clock.pass(1);
    await look('key', 'e', true);
    t.equal(asked.length, 2, reason);
  }
});

t.test('a failed call to core is not cached', async (t) => {
  const { look, asked } = setup(async () => {
    throw new CoreError('UNAVAILABLE', 'down');
  });
  t.match(await look('key', 'e', true), { reason: 'UNAVAILABLE' });
  t.match(await look('key', 'e', true), { reason: 'UNAVAILABLE' });
  t.equal(asked.length, 2);
});

t.test('a flood of unknown keys causes few calls', async (t) => {
  const { look, asked } = setup(() => new Promise(() => undefined));
  for (let i = 0; i < 1_000; i += 1) look(`key-${i}`, 'e', true);
  t.match(look('one-more', 'e', true), { reason: 'RATE_LIMITED' });
  t.equal(asked.length, 1_000);
});

t.test(
  'decisions of load-balancing endpoints are at most 1.5 s old, and are refreshed in the background',
  async (t) => {
    let now = { ...GOOD };
    const { live, clock, asked } = setup(async () => now);
    t.same(await live(), GOOD);
    clock.pass(749);
    await live();
    t.equal(asked.length, 1);
    now = { ...GOOD, workersRunning: 3 as 2 };
    clock.pass(1);
    t.match(await live(), { workersRunning: 2 }, 'at once, and asked beside it');
    t.match(await live(), { workersRunning: 3 });
    t.equal(asked.length, 2);
    now = { ...GOOD, workersRunning: 4 as 2 };
    clock.pass(1_500);
    t.match(await live(), { workersRunning: 4 }, 'too old: waited for');
  },
);

t.test('core is away: the last good decision stands for 10 minutes, and only the first waits', async (t) => {
  let isAway = false;
  const { live, clock, asked } = setup(async () => (isAway ? new Promise(() => undefined) : GOOD));
  await live();
  isAway = true;
  clock.pass(2_000);
  const first = live();
  await new Promise(setImmediate);
  clock.pass(500);
  t.same(await first, GOOD);
  t.same(await live(), GOOD, 'without a wait');
  t.equal(asked.length, 2, 'core is asked all the time, once');
});
