/** The work queue: an endpoint waits for running transactions only, however many others are queued. */

import type { QueuedReconcile } from '@slipway/core/scaling/work-queue';
import { nextBatch, WorkQueue } from '@slipway/core/scaling/work-queue';
import t from 'tap';

const due = (id: string, accountId: string): QueuedReconcile => ({
  endpoint: { id, accountId },
  sample: { demand: { workers: [] } },
});
const flood = Array.from({ length: 500 }, (_, n) => due(`flood${n}`, 'flood'));

/** Returns a queue whose transactions end when the test says so. */
function queue() {
  const batches: { ids: readonly string[]; end: PromiseWithResolvers<void> }[] = [];
  const work = new WorkQueue((ids) => {
    const end = Promise.withResolvers<void>();
    batches.push({ ids, end });
    return end.promise;
  });
  return { work, batches, settled: () => new Promise((resolve) => setImmediate(resolve)) };
}

t.test('a new endpoint is in the next batch, not after all queued ones', async (t) => {
  const { work, batches, settled } = queue();
  void work.add(flood);
  t.same(
    batches.map(({ ids }) => ids.length),
    [24, 24],
    'two at once',
  );
  let isOver = false;
  const small = work.add([due('small', 'other')]).then(() => {
    isOver = true;
  });
  t.ok(work.isQueued('small'));
  batches[0]!.end.resolve();
  await settled();
  t.equal(batches.length, 3);
  t.ok(batches[2]!.ids.includes('small'));
  t.ok(work.running('small'));
  t.notOk(isOver);
  batches[2]!.end.resolve();
  await small;
  t.notOk(work.running('small'));
  for (let n = 0; n < batches.length; n += 1) {
    batches[n]!.end.resolve();
    await settled();
  }
  t.same(new Set(batches.flatMap(({ ids }) => ids)).size, 501, 'and all others have theirs');
});

t.test('an endpoint never runs twice at once, and one run serves all requests before it', async (t) => {
  const { work, batches, settled } = queue();
  const first = work.add([due('a', 'one')]);
  const [again, too] = [work.add([due('a', 'one')]), work.add([due('a', 'one')])];
  t.equal(batches.length, 1);
  batches[0]!.end.resolve();
  await first;
  await settled();
  t.equal(batches.length, 2);
  batches[1]!.end.resolve();
  await Promise.all([again, too]);
  t.equal(batches.length, 2);
});

t.test('a failed transaction rejects its waiters, and the next one begins', async (t) => {
  const { work, batches } = queue();
  const [all, other] = [work.add(flood.slice(0, 60)), work.add([due('other', 'other')])];
  batches[0]!.end.reject(new Error('no database'));
  await t.rejects(all, { message: 'no database' });
  t.ok(batches[2]!.ids.includes('other'));
  batches[2]!.end.resolve();
  await other;
});

t.test('stop waits for running transactions and resolves the queued ones', async (t) => {
  const { work, batches } = queue();
  const all = work.add(flood);
  let isOver = false;
  const stopped = work.stop().then(() => {
    isOver = true;
  });
  t.notOk(isOver);
  for (const { end } of batches) end.resolve();
  await Promise.all([all, stopped]);
  t.equal(batches.length, 2);
  await work.add([due('late', 'one')]);
  t.equal(batches.length, 2, 'nothing begins after it');
});

t.test('a batch takes accounts in rotation, and endpoints without workers first', async (t) => {
  const due = (id: string, accountId: string, workers: number) => ({
    endpoint: { id, accountId },
    sample: { demand: { workers: Array.from({ length: workers }, () => ({ desired: 'RUN' as const })) } },
  });
  const flood = Array.from({ length: 20 }, (_, n) => due(`flood${n}`, 'flood', 0));
  t.same(nextBatch([...flood, due('a', 'one', 0), due('b', 'one', 0), due('c', 'two', 0)]).slice(0, 5), [
    'flood0',
    'a',
    'c',
    'flood1',
    'b',
  ]);
  t.same(nextBatch([due('more', 'one', 3), due('first', 'one', 0)]), ['first', 'more']);
  const growing = Array.from({ length: 20 }, (_, n) => due(`more${n}`, 'one', 3));
  const next = nextBatch([...growing, ...flood, ...flood.map(({ endpoint: { id } }) => due(`${id} too`, 'flood', 0))]);
  t.same(
    [next.length, next.filter((id) => id.startsWith('flood')).length],
    [24, 18],
    'first workers do not starve scale-ups',
  );
  t.equal(nextBatch([...growing, due('first', 'one', 0)]).length, 21);
});
