/** Normal requests of the last minute to endpoints with batches. */
import { ArrivalRecorder } from '@slipway/core/batches/arrival-recorder';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const SECOND_MS = 1_000;

t.test('requests count for a minute', (t) => {
  const clock = new ManualClock();
  const arrivals = new ArrivalRecorder(clock);
  t.equal(arrivals.record('a', 1), false, 'nobody asked for it yet');
  t.equal(arrivals.watches('a'), false);
  t.equal(arrivals.count('a'), 0);
  t.equal(arrivals.watches('a'), true);
  t.equal(arrivals.record('a', 3), true, 'the first ones');
  clock.pass(15 * SECOND_MS);
  t.equal(arrivals.record('a', 2), false, 'more of them');
  t.equal(arrivals.count('a'), 5);
  clock.pass(50 * SECOND_MS);
  t.equal(arrivals.count('a'), 2);
  clock.pass(20 * SECOND_MS);
  t.equal(arrivals.count('a'), 0);
  t.equal(arrivals.record('a', 1), true, 'the first ones again');
  t.end();
});

t.test('an endpoint that no batch asks for any more is forgotten', (t) => {
  const clock = new ManualClock();
  const arrivals = new ArrivalRecorder(clock);
  arrivals.count('a');
  clock.pass(61 * SECOND_MS);
  arrivals.count('b');
  t.equal(arrivals.watches('a'), false);
  t.equal(arrivals.watches('b'), true);
  t.end();
});
