/** The log of chunks that core has not acknowledged: order, repeats, rounds between attempts, and limits. */
import type { ChunkBounds } from '@slipway/gpu-agent/attempts/chunk-log';
import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import { attemptKey } from '@slipway/gpu-agent/spool/attempt-key';
import { MessageBudget } from '@slipway/kit/net/batch-queue';
import t from 'tap';
import { chunkOf, refOf } from '../make-outcome.ts';

const keyOf = (job: string): string => attemptKey(refOf(job));

/** Returns a log, and what one message after another takes of it: each as `a1`. */
function setup(bounds: Partial<ChunkBounds> = {}) {
  const log = new ChunkLog(bounds);
  const take = (items = Infinity): string[] =>
    log.take(new MessageBudget({ items })).map(({ ref, number }) => `${ref!.jobId}${number}`);
  const add = (job: string, ...numbers: number[]): void => {
    for (const number of numbers) log.add(chunkOf(job, number));
  };
  /** Returns whether a chunk of this job must wait for capacity; `spaceFor` resolves once there is capacity. */
  const waits = async (job: string): Promise<{ waits: boolean; space: Promise<void> }> => {
    let waits = true;
    const space = log.spaceFor(keyOf(job)).then(() => {
      waits = false;
    });
    await Promise.resolve();
    await Promise.resolve();
    return { waits, space };
  };
  return {
    log,
    take,
    add,
    waits,
    ack: (job: string, number: number): void => log.acknowledge({ ref: refOf(job), number }),
  };
}

t.test('sent once, again after a reconnect, until acknowledged', async (t) => {
  const { log, take, add, ack } = setup();
  add('a', 1, 2, 3);
  add('b', 1);
  t.same(take(), ['a1', 'b1', 'a2', 'a3']);
  ack('a', 2);
  t.same(
    log.unacknowledged(keyOf('a')).map((chunk) => chunk.number),
    [3],
  );
  t.same([take(), log.isEmpty, log.isReady], [[], true, false]);
  log.sendAll();
  t.same(take(), ['a3', 'b1']);
  log.forget(keyOf('b'));
  ack('unknown', 9);
  log.sendAll();
  t.same(take(), ['a3']);
});

t.test('attempts take turns, also over several messages', async (t) => {
  const { take, add } = setup();
  add('much', 1, 2, 3, 4, 5, 6);
  add('little', 1);
  t.same(take(2), ['much1', 'little1']);
  add('little', 2);
  add('third', 1);
  t.same(take(3), ['much2', 'little2', 'third1']);
  t.same(take(), ['much3', 'much4', 'much5', 'much6']);
});

t.test('chunks in flight are bounded by number; more follow when core has stored some', async (t) => {
  const { log, take, add, ack } = setup({ flyingMax: 3 });
  let woken = 0;
  log.onWaiting = () => {
    woken += 1;
  };
  add('a', 1, 2, 3, 4, 5);
  add('b', 1);
  t.same(take(), ['a1', 'b1', 'a2']);
  t.same([take(), log.isReady, log.isEmpty], [[], false, false]);
  t.same([log.hasUnsent(keyOf('a')), log.hasUnsent(keyOf('b'))], [true, false]);
  woken = 0;
  add('b', 2);
  t.equal(woken, 0, 'nothing could leave');
  ack('a', 1);
  t.equal(woken, 1);
  t.same(take(), ['a3']);
  log.forget(keyOf('a'));
  t.same([woken, take(), log.isEmpty], [2, ['b2'], true], 'what is forgotten is not on its way');
});

t.test('chunks in flight are bounded by bytes', async (t) => {
  const { log, take, ack } = setup({ flyingBytesMax: 3_000 });
  for (const number of [1, 2, 3]) log.add(chunkOf('a', number, 'x'.repeat(2_000)));
  t.same(take(), ['a1', 'a2'], 'the last of them may go over');
  t.same(take(), []);
  ack('a', 2);
  t.same(take(), ['a3']);
});

t.test('metrics count as well', async (t) => {
  const { log, waits, ack } = setup({ bytesMax: 510 });
  log.add({ ...chunkOf('a', 1, 'x'), metrics: Buffer.from('{"tokens":12}') });
  const next = await waits('b');
  t.ok(next.waits);
  ack('a', 1);
  await next.space;
});

t.test('full: the next chunk waits', async (t) => {
  const { log, waits, ack } = setup({ bytesMax: 510 });
  log.add(chunkOf('a', 1, 'x'.repeat(12)));
  const next = await waits('b');
  t.ok(next.waits);
  ack('a', 1);
  await next.space;
  t.notOk((await waits('b')).waits);
});

t.test('an attempt over its share waits, others do not', async (t) => {
  const { log, waits, ack } = setup({ attemptBytesMax: 1_000 });
  log.add(chunkOf('a', 1, 'x'.repeat(600)));
  const next = await waits('a');
  t.ok(next.waits);
  t.notOk((await waits('b')).waits);
  ack('a', 1);
  await next.space;
  log.add(chunkOf('a', 2, 'x'.repeat(600)));
  const last = await waits('a');
  log.forget(keyOf('a'));
  await last.space;
});

t.test('tiny chunks count with their overhead', async (t) => {
  const { log, waits, ack } = setup({ bytesMax: 100_000 });
  for (let number = 1; number <= 1_000; number += 1) log.add(chunkOf('a', number, '1'));
  const next = await waits('a');
  t.ok(next.waits);
  for (let number = 1; number <= 900; number += 1) ack('a', number);
  await next.space;
  t.equal(log.unacknowledged(keyOf('a'))[0]?.number, 901);
});
