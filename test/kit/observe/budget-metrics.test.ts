/**
 * Metrics of the fill and the limit of memory budgets, read as Prometheus does, while memory is held, waited for and
 * released.
 */

import { OutcomeBudget } from '@slipway/core/rpc/server/outcome-budget';
import { PageBudget } from '@slipway/core/rpc/server/page-budget';
import { ByteBudget } from '@slipway/kit/bytes/byte-budget';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { budgetMetrics } from '@slipway/kit/observe/budget-metrics';
import { Metrics } from '@slipway/kit/observe/metrics';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { parseMetrics } from '../../helpers/system/metrics.ts';

const MIB = 1024 * 1024;

/** Returns a meter, and the three numbers of a budget; undefined: there is none of that name. */
function metered() {
  const metrics = new Metrics();
  const read = async (budget: string) => {
    const served = parseMetrics((await metrics.read()).text);
    const of = (name: string) =>
      served.get(`x_memory_${name}`)!.samples.find(({ labels }) => labels['budget'] === budget)?.value;
    return { bytes: of('bytes'), limit: of('limit_bytes'), waiting: of('waiting') };
  };
  return { meter: budgetMetrics(metrics, 'x'), read };
}

t.test('held bytes', async (t) => {
  const { meter, read } = metered();
  const held = Promise.withResolvers<void>();
  const over = new ByteBudget('held', 100, meter).hold(30, () => held.promise);
  t.same(await read('held'), { bytes: 30, limit: 100, waiting: undefined });
  held.resolve();
  await over;
  t.same(await read('held'), { bytes: 0, limit: 100, waiting: undefined });
});

t.test('bodies, in total, and of the largest owner where only owners are bounded', async (t) => {
  const { meter, read } = metered();
  for (const [name, bytesMax] of [
    ['all', 100],
    ['owners', Infinity],
  ] as const) {
    const budget = new MemoryBudget({ bytesMax, ownerBytesMax: 50 });
    meter.watch(name, () => budget.fill);
    const places = [
      ['a', 20],
      ['b', 30],
      ['b', 10],
      ['b', 40],
    ].map(([owner, bytes]) => budget.acquire(owner as string, bytes as number, () => undefined));
    t.same(
      await read(name),
      name === 'all' ? { bytes: 60, limit: 100, waiting: 1 } : { bytes: 40, limit: 50, waiting: 1 },
    );
    for (const place of places) place.release();
    t.match(await read(name), { bytes: 0, waiting: 0 });
  }
});

t.test('queued checks', async (t) => {
  const { meter, read } = metered();
  const work = new SlicedWork({ name: 'checks', bytesMax: 4 * MIB, ownerBytesMax: MIB, meter, clock: systemClock });
  function* nothing(): Work<number> {
    yield;
    return 7;
  }
  const done = work.run('a', MIB, nothing());
  t.match(await read('checks'), { limit: 4 * MIB });
  t.equal(await done, 7);
  t.match(await read('checks'), { bytes: 0 });
});

t.test('pages of lists, and arriving outcomes', async (t) => {
  const { meter, read } = metered();
  const pages = new PageBudget(meter);
  const gone: (() => void)[] = [];
  for (const account of ['a', 'b']) await pages.enter(account, false, (leave) => gone.push(leave));
  const { bytes, limit } = await read('pages');
  t.equal(bytes, limit! / 4, 'two of eight');
  for (const leave of gone) leave();
  t.match(await read('pages'), { bytes: 0, waiting: 0 });
  const room = new OutcomeBudget({ bytesMax: 100, machineBytesMax: 60, meter });
  t.ok(room.reserve('m', 40));
  t.same(await read('incoming outcomes'), { bytes: 40, limit: 100, waiting: undefined });
  room.release('m', 40);
  t.match(await read('incoming outcomes'), { bytes: 0 });
});
