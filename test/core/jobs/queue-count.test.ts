/** A replica's count of waiting jobs: no submission is rejected because a job was counted twice. */

import { QueueCount } from '@slipway/core/jobs/submit/queue-count';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

t.test('a job that is queued while the others are counted', async (t) => {
  const clock = new ManualClock();
  const reads: ((count: number) => void)[] = [];
  const count = new QueueCount(
    clock,
    () =>
      new Promise((resolve) => {
        reads.push(resolve);
      }),
  );
  const admit = async (): Promise<void> => {
    await count.admit(3, () => new Error('full'));
  };
  const first = admit();
  reads.shift()!(2);
  await first;
  clock.pass(1_500);
  // The count is old: it is made anew beside this one, and finds what this one queues.
  await admit();
  count.changed(1);
  reads.shift()!(3);
  await new Promise(setImmediate);
  const next = admit();
  reads.shift()!(3);
  await t.resolves(next, '3 wait, not 4');
  count.changed(1);
  await t.rejects(admit(), { message: 'full' }, '4 wait');
  t.same(reads, [], 'which was known');
});
