/** Verdicts on keys: one question for many requests, and no verdict older than it may be. */
import t from 'tap';
import { AccessCache } from '../../../facades/plugins/access-cache.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { ManualClock } from '../manual-clock.ts';

const GOOD = { accountId: 'user_1', keyId: 'k', endpointType: 1, workersRunning: 2, validMs: 60_000 } as const;

function setup(answer: () => Promise<typeof GOOD>) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const cache = new AccessCache((apiKey, endpointId, write) => {
    asked.push(`${apiKey} ${endpointId} ${write}`);
    return answer();
  }, clock);
  return { cache, clock, asked };
}

t.test('a good verdict is kept, at most 5 s whatever core allows', async (t) => {
  const { cache, clock, asked } = setup(async () => GOOD);
  t.same(await cache.look('key', 'e', true), GOOD);
  clock.pass(4_999);
  t.same(cache.look('key', 'e', true), GOOD, 'without waiting');
  clock.pass(1);
  await cache.look('key', 'e', true);
  t.same(asked, ['key e true', 'key e true']);
});

t.test('no longer than core allows', async (t) => {
  const { cache, clock, asked } = setup(async () => ({ ...GOOD, validMs: 100 as 60_000 }));
  await cache.look('key', 'e', false);
  clock.pass(100);
  await cache.look('key', 'e', false);
  t.equal(asked.length, 2);
});

t.test('key, endpoint and right are asked apart', async (t) => {
  const { cache, asked } = setup(async () => GOOD);
  await Promise.all([cache.look('a', 'e', true), cache.look('a', 'e', false), cache.look('a', 'f', true), cache.look('b', 'e', true)]);
  t.equal(asked.length, 4);
});

t.test('many requests ask once', async (t) => {
  const { cache, asked } = setup(async () => GOOD);
  await Promise.all(Array.from({ length: 50 }, () => cache.look('key', 'e', true)));
  t.equal(asked.length, 1);
});

t.test('a bad verdict is kept for 1 s', async (t) => {
  for (const reason of ['UNAUTHORIZED', 'ENDPOINT_NOT_FOUND'] as const) {
    const { cache, clock, asked } = setup(async () => { throw new CoreError(reason, 'no'); });
    t.match(await cache.look('key', 'e', true), { reason });
    clock.pass(999);
    t.match(cache.look('key', 'e', true), { reason });
    clock.pass(1);
    await cache.look('key', 'e', true);
    t.equal(asked.length, 2, reason);
  }
});

t.test('that core could not be asked is no verdict', async (t) => {
  const { cache, asked } = setup(async () => { throw new CoreError('UNAVAILABLE', 'down'); });
  t.match(await cache.look('key', 'e', true), { reason: 'UNAVAILABLE' });
  t.match(await cache.look('key', 'e', true), { reason: 'UNAVAILABLE' });
  t.equal(asked.length, 2);
});

t.test('a flood of keys is not a flood of questions', async (t) => {
  const { cache, asked } = setup(() => new Promise(() => undefined));
  for (let i = 0; i < 1_000; i += 1) cache.look(`key-${i}`, 'e', true);
  t.match(cache.look('one-more', 'e', true), { reason: 'RATE_LIMITED' });
  t.equal(asked.length, 1_000);
});
