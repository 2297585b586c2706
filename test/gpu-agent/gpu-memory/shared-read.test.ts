/** A reading for several callers: nobody gets a value from before it asked, and many callers share few readings. */
import { sharedRead } from '@slipway/gpu-agent/gpu-memory/shared-read';
import t from 'tap';

/** Returns a reading that ends when the test says so. Its value is its number. */
function controlled() {
  const readings: PromiseWithResolvers<number>[] = [];
  const read = sharedRead(() => {
    const reading = Promise.withResolvers<number>();
    readings.push(reading);
    return reading.promise;
  });
  return { read, readings, end: (index: number) => readings[index]!.resolve(index) };
}

t.test('who asks during a reading shares the next one', async (t) => {
  const { read, readings, end } = controlled();
  const first = read();
  const others = Array.from({ length: 9 }, () => read());
  t.equal(readings.length, 1);
  end(0);
  t.equal(await first, 0);
  t.equal(readings.length, 2);
  const later = read();
  end(1);
  t.strictSame(
    await Promise.all(others),
    Array.from({ length: 9 }, () => 1),
  );
  end(2);
  t.equal(await later, 2);
  const alone = read();
  t.equal(readings.length, 4, 'it begins at once when none is in progress');
  end(3);
  t.equal(await alone, 3);
});

t.test('a reading that fails does not fail the next one', async (t) => {
  const { read, readings, end } = controlled();
  const first = read();
  const next = read();
  readings[0]!.reject(new Error('silent'));
  await t.rejects(first, /silent/);
  end(1);
  t.equal(await next, 1);
});
