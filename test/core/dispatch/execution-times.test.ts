/** The execution times that are remembered, and how long a long one has an effect. */

import { ExecutionTimes } from '@slipway/core/dispatch/reports/execution-times';
import { MEASURED_MAX, MEASURED_MIN, SHORT_MS_MAX } from '@slipway/core/domain/jobs/prefetch';
import t from 'tap';

/** Returns the number of short times needed until they count again. */
function untilKnown(times: ExecutionTimes): number {
  let count = 0;
  while (times.of('e').length === 0) {
    times.record('e', 5);
    count += 1;
  }
  return count;
}

t.test('a long execution ends the short-job estimate; short ones restore it gradually', async (t) => {
  const times = new ExecutionTimes();
  times.record('e', 30_000);
  t.equal(untilKnown(times), MEASURED_MIN, 'the first may have loaded a model');
  const needed = [1, 2, 3, 4, 5, 6].map(() => {
    times.record('e', SHORT_MS_MAX + 1);
    return untilKnown(times);
  });
  t.same(needed, [6, 12, 24, 48, 64, 64]);
  for (let count = 0; count < 1_000; count += 1) times.record('e', 5);
  times.discard('e');
  t.equal(untilKnown(times), 2 * MEASURED_MIN, 'long ago');
});

t.test('the latest of each endpoint', async (t) => {
  const times = new ExecutionTimes();
  for (let ms = 0; ms < MEASURED_MAX + 2; ms += 1) times.record('e', ms);
  t.same(
    [...times.of('e')].sort((a, b) => a - b),
    Array.from({ length: MEASURED_MAX }, (_, index) => index + 2),
  );
  t.same(times.of('other'), []);
});
