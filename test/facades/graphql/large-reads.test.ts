/** Pages of long lists of an operation: a further one rests first for as long as the latest took. */
import { LargeRead, largeReads } from '@slipway/facades/graphql/large-reads';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

t.test('a further page rests for as long as the latest page took, the first page of a list for nothing', async (t) => {
  const clock = new ManualClock();
  const steps: string[] = [];
  const rest = async (tookMs: number): Promise<void> => {
    steps.push(`rest of ${tookMs}`);
  };
  const read = new LargeRead(largeReads(), { accountId: 'a', rest }, clock);
  const page = (name: string, ms: number): Promise<string> =>
    read.page(name !== '1', async () => {
      steps.push(name);
      clock.pass(ms);
      return name;
    });
  t.equal(await page('1', 30), '1');
  t.equal(await page('2', 70), '2');
  t.equal(await page('3', 10), '3');
  t.equal(await page('1', 10), '1');
  t.same(steps, ['1', 'rest of 30', '2', 'rest of 70', '3', '1']);
});
