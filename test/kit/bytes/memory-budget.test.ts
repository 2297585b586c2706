/**
 * The memory budget for bodies and answers: each account has a share, owners take turns, and no account waits for
 * another that has used up its own share.
 */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import t from 'tap';

t.test('an account has its share, and delays no other', async (t) => {
  const budget = new MemoryBudget({ bytesMax: 100, ownerBytesMax: 40 });
  const begun: string[] = [];
  const ask = (account: string, bytes: number, name = account) =>
    budget.acquire(account, bytes, () => begun.push(name));
  const first = ask('a', 30);
  const second = ask('a', 20, 'a2');
  ask('b', 40);
  t.same(begun, ['a', 'b'], 'at once, where there is room');
  second.release();
  first.release();
  t.same(begun, ['a', 'b'], 'one that gave up waiting does not begin');
});

t.test('first come, first served, as bytes are released', async (t) => {
  const budget = new MemoryBudget({ bytesMax: 100, ownerBytesMax: 100 });
  const begun: string[] = [];
  const ask = (account: string, bytes: number) => budget.acquire(account, bytes, () => begun.push(account));
  const first = ask('a', 90);
  ask('b', 50);
  const third = ask('c', 10);
  t.same(begun, ['a'], 'a small one does not overtake for ever');
  first.shrink(50);
  t.same(begun, ['a', 'b']);
  first.release();
  first.release();
  first.shrink(1);
  t.same(begun, ['a', 'b', 'c'], 'given back once');
  third.release();
  ask('d', 51);
  t.same(begun, ['a', 'b', 'c'], 'what others hold still counts');
});

t.test('what an owner lends is for others', async (t) => {
  const budget = new MemoryBudget({ bytesMax: 10, ownerBytesMax: 10 });
  const begun: string[] = [];
  const permit = budget.acquire('a', 10, () => begun.push('a'));
  const own = budget.acquire('a', 1, () => begun.push('a again'));
  const other = budget.acquire('b', 10, () => begun.push('b'));
  t.same(begun, ['a']);
  permit.lend();
  t.same(begun, ['a', 'b']);
  permit.release();
  permit.release();
  t.same(begun, ['a', 'b'], 'the other has all of it');
  other.release();
  t.same(begun, ['a', 'b', 'a again']);
  own.release();
  t.equal(budget.fill.bytes, 0);
});

t.test('small requests of an owner go before its large one for a bounded time', async (t) => {
  const budget = new MemoryBudget({ bytesMax: 100, ownerBytesMax: 8 });
  let largeBegan = false;
  const small = Array.from({ length: 8 }, () => budget.acquire('a', 1, () => undefined));
  budget.acquire('a', 8, () => {
    largeBegan = true;
  });
  // A new one comes whenever one ends.
  for (let i = 0; i < 100; i += 1) {
    small.push(budget.acquire('a', 1, () => undefined));
    small.shift()!.release();
  }
  t.equal(largeBegan, true);
  for (const permit of small) permit.release();
});

t.test('owners are served round-robin, however many requests of one wait', async (t) => {
  const budget = new MemoryBudget({ bytesMax: 2, ownerBytesMax: 1 });
  const begun: string[] = [];
  const places = new Map<string, { release(): void }>();
  const ask = (owner: string, name: string, isFirst = false): void => {
    places.set(
      name,
      budget.acquire(owner, 1, () => begun.push(name), isFirst),
    );
  };
  ask('x', 'x0');
  ask('a', 'a0');
  for (let i = 1; i <= 100; i += 1) ask('a', `a${i}`);
  for (let i = 1; i <= 100; i += 1) ask('b', `b${i}`);
  ask('c', 'c1');
  ask('a', 'a of what has begun', true);
  t.same(begun, ['x0', 'a0']);
  for (const done of ['a0', 'x0', 'b1', 'c1', 'b2']) places.get(done)!.release();
  t.same(
    begun.slice(2),
    ['a of what has begun', 'b1', 'c1', 'b2', 'b3'],
    'the one who came last waits for one of each',
  );
  t.equal(budget.fill.waiting, 197);
  for (const place of places.values()) place.release();
  t.equal(budget.fill.bytes, 0);
  t.equal(budget.fill.waiting, 0);
});
