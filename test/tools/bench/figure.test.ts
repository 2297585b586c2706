/** Figures of the bench. */
import { median } from '@slipway/tools/bench/figure';
import t from 'tap';

t.test('the median is the middle value, or the mean of the two in the middle', async (t) => {
  t.equal(median([3]), 3);
  t.equal(median([9, 1, 4]), 4);
  t.equal(median([1.2, 0.9]), 1.05);
  t.equal(median([4, 10, 1, 2]), 3);
});
