/** The watch of Pods where something between agent and API server ends each watch at once, as a proxy may. */
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { PodWatch } from '@slipway/gpu-agent/executors/kubernetes/pod-watch';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { httpsServer } from '../../../helpers/net/https-server.ts';
import { PauseClock } from '../../../helpers/time/pause-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Pauses that are looked at. */
const PAUSES = 6;

t.test('a watch that ends at once and without an event is begun again less and less often', async (t) => {
  let watches = 0;
  const { access } = await httpsServer(t, ({ url = '' }, response) => {
    const isWatch = url.includes('watch=true');
    if (isWatch) watches += 1;
    response.end(isWatch ? '' : JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
  });
  const [api, clock] = [new ApiClient(access, systemClock), new PauseClock()];
  const watch = new PodWatch({
    api,
    namespace: 'default',
    labelSelector: '',
    onPod: () => undefined,
    onGone: () => undefined,
    clock,
    random: systemRandom,
    logger: createLogger('test', 'silent'),
  });
  t.teardown(async () => {
    await watch.close();
    api.close();
  });
  watch.start();
  await watch.synced;
  // Each watch has a limit of its own, and is followed by a pause.
  const pauses: number[] = [];
  for (let n = 0; n < PAUSES; n += 1) {
    await waitFor(`pause ${n}`, () => clock.pauses.length > 2 * n + 1);
    pauses.push(await clock.end(2 * n + 1));
  }
  await waitFor('the next watch', () => watches === PAUSES + 1);
  t.ok(pauses[0]! <= 200, `first ${pauses[0]} ms`);
  t.ok(pauses.at(-1)! >= 3_200, `last ${pauses.at(-1)} ms`);
});
