/** The cache behind every check of a key: bounded, fresh, one question at a time. */

import { LookupCache } from '@slipway/core/access/lookup-cache';
import type { Clock } from '@slipway/kit/time/clock';
import t from 'tap';

function setup(sizeMax = 10) {
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    machineMs: () => 0,
    monotonicMs: () => nowMs,
    after: () => ({ cancel: () => undefined }),
    soon: setImmediate,
  };
  const asked: { key: string; answer(value: string | undefined): void; fail(): void }[] = [];
  const cache = new LookupCache<string>({
    load: (key) =>
      new Promise((resolve, reject) => {
        asked.push({ key, answer: resolve, fail: () => reject(new Error('down')) });
      }),
    validMs: 5_000,
    sizeMax,
    clock,
  });
  return {
    cache,
    asked,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

t.test('looks up once for many callers, and answers from memory until the answer is too old', async (t) => {
  const { cache, asked, pass } = setup();
  t.equal(cache.peek('k'), undefined);
  const both = Promise.all([cache.get('k'), cache.get('k')]);
  t.equal(asked.length, 1);
  pass(1_000);
  asked[0]!.answer('yes');
  t.same(
    (await both).map(({ value, validUntilMs }) => [value, validUntilMs]),
    [
      ['yes', 5_000],
      ['yes', 5_000],
    ],
    'counted from before the question',
  );
  t.equal(cache.peek('k')?.value, 'yes');
  pass(3_999);
  t.equal(cache.peek('k')?.value, 'yes');
  pass(1);
  t.equal(cache.peek('k'), undefined, 'five seconds and no more');
});

t.test('a rejection is cached too, a failure is not', async (t) => {
  const { cache, asked } = setup();
  const no = cache.get('k');
  asked[0]!.answer(undefined);
  await no;
  t.same(cache.peek('k'), { value: undefined, validUntilMs: 5_000 });
  const failing = cache.get('other');
  asked[1]!.fail();
  await t.rejects(failing, /down/);
  const again = cache.get('other');
  t.equal(asked.length, 3, 'asked again');
  asked[2]!.answer('yes');
  t.equal((await again).value, 'yes');
});

t.test('forgetting also discards a lookup in progress', async (t) => {
  const { cache, asked } = setup();
  const first = cache.get('k');
  cache.forget('k');
  const second = cache.get('k');
  t.equal(asked.length, 2, 'whoever asks afterwards gets a newer answer');
  asked[0]!.answer('old');
  asked[1]!.answer('new');
  t.same([(await first).value, (await second).value], ['old', 'new']);
  t.equal(cache.peek('k')?.value, 'new');
  cache.forgetWhere((value) => value === 'new');
  t.equal(cache.peek('k'), undefined);
});

t.test('the longest unused entry is evicted first', async (t) => {
  const { cache, asked } = setup(2);
  for (const key of ['a', 'b']) {
    const got = cache.get(key);
    asked.at(-1)!.answer(key);
    await got;
  }
  cache.peek('a');
  const third = cache.get('c');
  asked.at(-1)!.answer('c');
  await third;
  t.same(
    ['a', 'b', 'c'].map((key) => cache.peek(key)?.value),
    ['a', undefined, 'c'],
  );
});
