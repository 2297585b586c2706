/**
 * The batching stream and its queue: order, completeness, limits, closing, over a sink that accepts messages under the
 * test's control.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import type { MessageSink } from '@slipway/kit/net/batching-stream';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import { systemClock } from '@slipway/kit/time/clock';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

/** A stream that accepts each message only when the test releases it. */
class HeldSink<Item> implements MessageSink<Item[]> {
  readonly messages: Item[][] = [];
  #left: (() => void)[] = [];
  /** Most messages that were written and not taken. */
  inFlightMax = 0;

  write(message: Item[], left: () => void): void {
    this.messages.push(message);
    this.#left.push(left);
    this.inFlightMax = Math.max(this.inFlightMax, this.#left.length);
  }

  /** Takes the oldest. */
  release(): boolean {
    const left = this.#left.shift();
    left?.();
    return left !== undefined;
  }
}

function setup<Item>(room = () => new MessageBudget(), queue = new BatchQueue<Item>()) {
  const sink = new HeldSink<Item>();
  const left: Item[] = [];
  const take = (): Item[] | undefined => {
    const items = queue.take(room());
    return items.length > 0 ? items : undefined;
  };
  const stream = new BatchingStream<Item[]>({ sink, clock: systemClock, take, onLeft: (items) => left.push(...items) });
  const add = (item: Item, bytes = 1): void => {
    queue.add(item, bytes);
    stream.wake();
  };
  return { sink, queue, stream, left, add };
}

t.test('items of one tick leave in one message, later ones in the next', async (t) => {
  const { sink, add, stream, left } = setup<string>();
  for (const item of ['a', 'b', 'c']) add(item);
  t.same(sink.messages, [], 'nothing before the end of the turn');
  await turn();
  t.same(sink.messages, [['a', 'b', 'c']]);
  add('d');
  await turn();
  add('e');
  await turn();
  t.same(sink.messages, [['a', 'b', 'c']], 'one message is in flight');
  t.ok(stream.inFlight);
  sink.release();
  t.same(left, ['a', 'b', 'c']);
  t.same(sink.messages, [
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
  sink.release();
  t.notOk(stream.inFlight);
  t.equal(sink.messages.length, 2, 'nothing is written when nothing waits');
});

t.test('closing writes all queued items, stopping writes nothing', async (t) => {
  const open = setup<number>(() => new MessageBudget({ items: 2 }));
  for (let item = 1; item <= 5; item += 1) open.add(item);
  open.stream.close();
  open.add(6);
  await turn();
  t.same(open.sink.messages, [[1, 2], [3, 4], [5]], 'at once, although nothing was taken yet');
  while (open.sink.release());
  t.same(open.left, [1, 2, 3, 4, 5]);
  t.equal(open.sink.messages.length, 3, 'nothing after the end');
  const broken = setup<number>();
  broken.add(1);
  broken.stream.stop();
  await turn();
  t.same(broken.sink.messages, []);
});

t.test('a failed write is the last one', async (t) => {
  const messages: string[] = [];
  const waiting = ['a', 'b'];
  const sink: MessageSink<string> = {
    write: (message, left) => {
      messages.push(message);
      setImmediate(left, new Error('broken'));
    },
  };
  const stream = new BatchingStream({
    sink,
    clock: systemClock,
    take: () => waiting.shift(),
    onLeft: () => t.fail('it did not leave'),
  });
  stream.wake();
  await turn();
  await turn();
  stream.wake();
  await turn();
  t.same(messages, ['a']);
});

t.test('the first item always fits into a message, later ones only within the limit', async (t) => {
  const { sink, add } = setup<string>(() => new MessageBudget({ bytes: 100 }));
  for (const [item, bytes] of [
    ['huge', 1_000],
    ['b', 60],
    ['c', 40],
    ['d', 1],
    ['large', 101],
  ] as const)
    add(item, bytes);
  await turn();
  while (sink.release());
  t.same(sink.messages, [['huge'], ['b', 'c'], ['d'], ['large']]);
});

t.test('a queue is full at its bound, and accepts again when a quarter has left', async (t) => {
  const queue = new BatchQueue<number>({ items: 8, bytes: 1_000 });
  for (let item = 0; item < 8; item += 1) {
    t.notOk(queue.isFull);
    queue.add(item, 1);
  }
  t.ok(queue.isFull);
  queue.take(new MessageBudget({ items: 1 }));
  t.ok(queue.isFull, 'not for every single item');
  queue.take(new MessageBudget({ items: 1 }));
  t.notOk(queue.isFull);
  queue.add(9, 1_000);
  t.ok(queue.isFull, 'by its bytes');
  t.equal(queue.bytes, 1_006);
  queue.clear();
  t.notOk(queue.isFull);
  t.same([queue.length, queue.bytes], [0, 0]);
});

t.test(
  'whatever comes whenever: in order, nothing lost, one message at a time, within its room; a feeder that asks ' +
    'first keeps the bound',
  async (t) => {
    const steps = fc.array(
      fc.oneof(
        {
          weight: 4,
          arbitrary: fc.record({ do: fc.constant('add' as const), bytes: fc.integer({ min: 0, max: 150 }) }),
        },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
      ),
      { maxLength: 60 },
    );
    const rooms = fc.record({ bytes: fc.integer({ min: 1, max: 300 }), items: fc.integer({ min: 1, max: 10 }) });
    const bounds = fc.record({ bytes: fc.integer({ min: 1, max: 600 }), items: fc.integer({ min: 1, max: 20 }) });
    await fc.assert(
      fc.asyncProperty(steps, rooms, bounds, async (steps, room, bound) => {
        const queue = new BatchQueue<{ number: number; bytes: number }>(bound);
        const { sink, stream, left, add } = setup(() => new MessageBudget(room), queue);
        const added: number[] = [];
        for (const step of steps) {
          if (step.do === 'turn') await turn();
          else if (step.do === 'release') sink.release();
          else if (!queue.isFull) {
            const item = { number: added.length, bytes: step.bytes };
            added.push(item.number);
            add(item, step.bytes);
            if (queue.length > bound.items || queue.bytes - step.bytes >= bound.bytes) return false;
          }
        }
        if (sink.inFlightMax > 1) return false;
        stream.close();
        while (sink.release());
        const small = sink.messages.every(
          (items) =>
            items.length === 1 ||
            (items.length <= room.items && items.reduce((bytes, item) => bytes + item.bytes, 0) <= room.bytes),
        );
        const numbers = sink.messages.flat().map(({ number }) => number);
        return small && numbers.join() === added.join() && left.map(({ number }) => number).join() === added.join();
      }),
      { seed: SEED },
    );
    t.pass('for all of them');
  },
);
