/** For how long a replica has worked without a break: others had as long to report to it. */
import { Stability } from '@slipway/kit/time/stability';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

/** Returns a stability whose database answers every second of `pass`. */
function answering() {
  const clock = new ManualClock();
  const stability = new Stability(clock);
  const pass = (seconds: number, answers = true): void => {
    for (let second = 0; second < seconds; second += 1) {
      clock.pass(1_000);
      stability.record(answers);
    }
  };
  return { clock, stability, pass };
}

t.test('a slow start does not count: nothing could be reported before the replica listened', async (t) => {
  const { stability, pass } = answering();
  pass(30);
  t.equal(stability.forMs, 0);
  stability.listens();
  t.equal(stability.forMs, 0);
  pass(8);
  t.equal(stability.forMs, 8_000);
});

t.test('a break of the database, or a stall of the process, begins it anew', async (t) => {
  const { clock, stability, pass } = answering();
  stability.listens();
  pass(5);
  t.equal(stability.forMs, 4_000);
  pass(1, false);
  t.equal(stability.forMs, 0);
  pass(3);
  t.equal(stability.forMs, 2_000);
  clock.pass(11_000);
  t.equal(stability.forMs, 0);
  stability.record(true);
  pass(1);
  t.equal(stability.forMs, 1_000);
});
