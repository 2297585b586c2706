/** A histogram whose series is looked up once reads like one of prom-client. */

import { CALL_SECONDS, Metrics } from '@slipway/kit/observe/metrics';
import t from 'tap';

const VALUES = [0, 0.001, 0.0011, 0.3, 1, 119.9, 120, 121, 4_000];

t.test('the text is the same for the same values, and a removed series is gone', async (t) => {
  const [own, reference] = [new Metrics(), new Metrics()];
  const described = { name: 'slipway_test_seconds', help: 'Times.' };
  const series = own.seriesHistogram({ ...described, label: 'endpoint' }, CALL_SECONDS);
  const histogram = reference.histogram({ ...described, labels: ['endpoint'] }, CALL_SECONDS);
  for (const endpoint of ['a', 'b"\\']) {
    const one = series.series(endpoint);
    for (const value of VALUES) {
      one.observe(value);
      histogram.observe({ endpoint }, value);
    }
  }
  t.same(await own.read(), await reference.read());
  series.remove('a');
  histogram.remove('a');
  t.same(await own.read(), await reference.read());
});
