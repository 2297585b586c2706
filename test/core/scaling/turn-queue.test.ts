/** Who waits for whose turn: what one endpoint's turn stands behind, while many others have theirs. */
import t from 'tap';
import type { WaitingTurn } from '../../../core/scaling/turn-order.ts';
import { TurnQueue } from '../../../core/scaling/turn-queue.ts';

const due = (id: string, accountId: string): WaitingTurn => ({ endpoint: { id, accountId }, sample: { demand: { workers: [] } } });
const flood = Array.from({ length: 500 }, (_, n) => due(`flood${n}`, 'flood'));

/** A queue whose transactions end when the test says so. */
function queue() {
  const begun: { ids: readonly string[]; end: PromiseWithResolvers<void> }[] = [];
  const turns = new TurnQueue((ids) => {
    const end = Promise.withResolvers<void>();
    begun.push({ ids, end });
    return end.promise;
  });
  return { turns, begun, settled: () => new Promise((resolve) => setImmediate(resolve)) };
}

t.test('who comes while many wait has a turn with the next transaction, not after all of them', async (t) => {
  const { turns, begun, settled } = queue();
  void turns.add(flood);
  t.same(begun.map(({ ids }) => ids.length), [24, 24], 'two at once');
  let isOver = false;
  const small = turns.add([due('small', 'other')]).then(() => { isOver = true; });
  t.ok(turns.waits('small'));
  begun[0]!.end.resolve();
  await settled();
  t.equal(begun.length, 3);
  t.ok(begun[2]!.ids.includes('small'));
  t.ok(turns.turnOf('small'));
  t.notOk(isOver);
  begun[2]!.end.resolve();
  await small;
  t.notOk(turns.turnOf('small'));
  for (let n = 0; n < begun.length; n += 1) {
    begun[n]!.end.resolve();
    await settled();
  }
  t.same(new Set(begun.flatMap(({ ids }) => ids)).size, 501, 'and all others have theirs');
});

t.test('an endpoint never has two turns at a time, and one turn is enough for all who ask before it', async (t) => {
  const { turns, begun, settled } = queue();
  const first = turns.add([due('a', 'one')]);
  const [again, too] = [turns.add([due('a', 'one')]), turns.add([due('a', 'one')])];
  t.equal(begun.length, 1);
  begun[0]!.end.resolve();
  await first;
  await settled();
  t.equal(begun.length, 2);
  begun[1]!.end.resolve();
  await Promise.all([again, too]);
  t.equal(begun.length, 2);
});

t.test('a transaction that fails fails for those who wait for it, and the next one begins', async (t) => {
  const { turns, begun } = queue();
  const [all, other] = [turns.add(flood.slice(0, 60)), turns.add([due('other', 'other')])];
  begun[0]!.end.reject(new Error('no database'));
  await t.rejects(all, { message: 'no database' });
  t.ok(begun[2]!.ids.includes('other'));
  begun[2]!.end.resolve();
  await other;
});

t.test('at the end those that have begun end, and nobody is kept waiting by the others', async (t) => {
  const { turns, begun } = queue();
  const all = turns.add(flood);
  let isOver = false;
  const stopped = turns.stop().then(() => { isOver = true; });
  t.notOk(isOver);
  for (const { end } of begun) end.resolve();
  await Promise.all([all, stopped]);
  t.equal(begun.length, 2);
  await turns.add([due('late', 'one')]);
  t.equal(begun.length, 2, 'nothing begins after it');
});
