// test: alone, postgres, envoy, 70 s
/**
 * Load-balancing endpoints with a worker that is ready answer after any silence, by a facade and through the real
 * Envoy. All times are a tenth.
 */

// First: modules loaded earlier have already read the times.
import '../helpers/time/short-timers.ts';

import { DEMAND_VALID_MS } from '@slipway/core/store/sql/demand-rows';
import { delay, systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { startDirectWay } from '../helpers/system/direct-way.ts';
import { skipWithoutEnvoy } from '../helpers/system/edge.ts';
import { lbClient } from '../helpers/system/lb-endpoint.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { DIVISOR } from '../helpers/time/short-timers.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);
/** Seconds of silence between two requests, before they are divided. */
const SILENCES = [0, 66, 140];
/** Seconds that a request takes which uses the endpoint longer than it is remembered. */
const LONG = 66;

t.test('requests succeed after a silence and after a long request', { skip: skipWithoutEnvoy() }, async (t) => {
  t.equal(DEMAND_VALID_MS, 45_000 / DIVISOR, 'the times are divided');
  const { system, send, create, direct } = await startDirectWay(t, { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
  const id = await create({ workersMin: 1, idleTimeoutSeconds: 60 });
  const { at } = lbClient(system);

  for (const seconds of SILENCES) {
    await delay(systemClock, (seconds * 1_000) / DIVISOR);
    t.equal((await at(id, '/any')).status, 200, `by the facade after ${seconds} s`);
  }
  for (const seconds of SILENCES) {
    await delay(systemClock, (seconds * 1_000) / DIVISOR);
    const before = await direct(id);
    t.equal((await send(`/v2/${id}/any`)).status, 200, `through the edge after ${seconds} s`);
    await waitFor('it to have gone straight', async () => (await direct(id)) > before);
  }
  for (const seconds of [0, 3, 14]) {
    t.equal((await at(id, `/slow?ms=${(LONG * 1_000) / DIVISOR}`)).status, 200, 'a long request');
    await delay(systemClock, (seconds * 1_000) / DIVISOR);
    t.equal((await at(id, '/any')).status, 200, `one that comes ${seconds} s after its end`);
  }
  t.equal(
    valueOf(await readMetrics(system.metrics.core), 'slipway_core_backends_resent_total'),
    0,
    'nothing had to be sent again',
  );
});
