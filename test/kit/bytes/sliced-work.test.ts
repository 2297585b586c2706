import { OverloadError } from '@slipway/kit/bytes/batcher';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { AT_ONCE_BYTES_MAX, SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';

const LARGE = AT_ONCE_BYTES_MAX + 1;

function sliced(bounds: { bytesMax?: number; ownerBytesMax?: number } = {}): SlicedWork {
  return new SlicedWork({
    name: 'test',
    bytesMax: 10 * LARGE,
    ownerBytesMax: 4 * LARGE,
    clock: systemClock,
    ...bounds,
  });
}

/** Takes about so many milliseconds of the process, in pieces of a tenth. */
function* busy(ms: number, result: string, log: string[] = []): Work<string> {
  for (let done = 0; done < ms; done += 0.1) {
    const untilMs = systemClock.monotonicMs() + 0.1;
    while (systemClock.monotonicMs() < untilMs);
    yield;
  }
  log.push(result);
  return result;
}

t.test('small work is done at once', async (t) => {
  t.equal(sliced().run('a', AT_ONCE_BYTES_MAX, busy(0, 'done')), 'done');
});

t.test('large work yields to the event loop', async (t) => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  t.equal(await sliced().run('a', LARGE, busy(60, 'done')), 'done');
  clearImmediate(immediate);
  t.ok(turns >= 10, `${turns} turns`);
});

t.test('owners take turns; work of one owner is done in order, also small work', async (t) => {
  const work = sliced();
  const log: string[] = [];
  const all = [
    work.run('a', LARGE, busy(40, 'a1', log)),
    work.run('a', LARGE, busy(40, 'a2', log)),
    work.run('a', 1, busy(0, 'a3', log)),
    work.run('b', LARGE, busy(10, 'b1', log)),
  ];
  t.ok(all[2] instanceof Promise);
  t.equal(work.run('c', 1, busy(0, 'c1')), 'c1', 'who has nothing waiting does not wait');
  await Promise.all(all);
  t.same(log, ['b1', 'a1', 'a2', 'a3']);
});

t.test('a failure affects its own work only', async (t) => {
  const work = sliced();
  const failing = (function* failing(): Work<never> {
    throw new Error('broken');
  })();
  const [bad, good] = await Promise.allSettled([work.run('a', LARGE, failing), work.run('a', LARGE, busy(1, 'fine'))]);
  t.equal(bad.status, 'rejected');
  t.match(good, { status: 'fulfilled', value: 'fine' });
});

t.test('queued work is bounded, per owner and in total', async (t) => {
  const work = sliced();
  const four = Array.from({ length: 4 }, () => work.run('a', LARGE, busy(0.1, 'a')));
  await t.rejects(Promise.resolve(work.run('a', LARGE, busy(0, 'a'))), OverloadError);
  const six = Array.from({ length: 6 }, (_, i) => work.run(`b${i}`, LARGE, busy(0.1, 'b')));
  await t.rejects(Promise.resolve(work.run('c', LARGE, busy(0, 'c'))), OverloadError);
  await Promise.all([...four, ...six]);
  t.equal(await work.run('a', 100 * LARGE, busy(0.1, 'alone')), 'alone', 'what is alone may be larger');
});
