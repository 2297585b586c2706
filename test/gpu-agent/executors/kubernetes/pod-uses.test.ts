/** When the metrics API is asked again, at a real HTTPS server. */
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { PodUses } from '@slipway/gpu-agent/executors/kubernetes/pod-uses';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { httpsServer } from '../../../helpers/net/https-server.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';

const POD = { metadata: { name: 'w' }, containers: [{ usage: { cpu: '500m', memory: '64Mi' } }] };

t.test('uses of Pods are known again a minute after a failure that may pass', async (t) => {
  const clock = new ManualClock();
  let status = 503;
  let calls = 0;
  const { access } = await httpsServer(t, (_, response) => {
    calls += 1;
    response.writeHead(status).end(JSON.stringify(status === 200 ? { items: [POD] } : { message: 'not now' }));
  });
  const api = new ApiClient(access, systemClock);
  t.teardown(() => api.close());
  const logger = createLogger('test', 'silent');
  const uses = new PodUses({ api, namespace: 'default', labelSelector: 'a=b', clock, logger });
  t.equal(await uses.of('w'), undefined);
  t.equal(await uses.of('w'), undefined);
  t.equal(calls, 1, 'it is not asked for each Pod');
  status = 200;
  clock.pass(60_000);
  t.same(await uses.of('w'), { processors: 0.5, memoryUsedMib: 64 });
  status = 404;
  clock.pass(20_000);
  t.equal(await uses.of('w'), undefined);
  clock.pass(60_000);
  t.equal(await uses.of('w'), undefined);
  t.equal(calls, 3, 'a cluster without the API is asked rarely');
});
