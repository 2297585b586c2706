/** What went on at an endpoint is written down: arrivals, waits, executions and starts; low priority apart; and it goes when it is old. */
import t from 'tap';
import { binOf, quantileOf } from '../../../core/domain/traffic.ts';
import { createLogger } from '../../../core/runtime/logger.ts';
import { Sealer } from '../../../core/runtime/seal.ts';
import { openStorage } from '../../../core/store/storage.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';

t.setTimeout(120_000);

t.test('jobs and starts are counted', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const jobs = await Promise.all([core.submit(endpointId), core.submit(endpointId), core.submit(endpointId, {}, true)]);
  for (const { id } of jobs) t.match(await core.wait(endpointId, id), { attempt: 1 });
  const [worker] = await core.sql`SELECT ready_at >= created_at AS started FROM worker WHERE endpoint_id = ${endpointId}`;
  t.same(worker, { started: true });
  await core.replicas[0]!.stop();
  const seen = async () => (await core.sql`
    SELECT sum(arrived)::int AS arrived, sum(executed)::int AS executed,
      sum((SELECT sum(n) FROM unnest(executions) n))::int AS executions, sum((SELECT sum(n) FROM unnest(waits) n))::int AS waits
    FROM endpoint_traffic WHERE endpoint_id = ${endpointId}`)[0];
  t.same(await seen(), { arrived: 2, executed: 3, executions: 3, waits: 2 }, 'the last of it when core stops');
  const storage = openStorage(core.url, new Sealer('00'.repeat(32)), createLogger('test', 'silent'));
  t.teardown(() => storage.close());
  t.equal(await storage.stores.traffic.reap(100), 0, 'nothing is old');
  await core.sql`UPDATE endpoint_traffic SET ended_at = ended_at - interval '13 hours'`;
  t.ok(await storage.stores.traffic.reap(100) >= 1);
  t.same(await seen(), { arrived: null, executed: null, executions: null, waits: null });
});

t.test('a histogram gives lengths back to half an octave', async (t) => {
  const histogram: number[] = [];
  for (let ms = 1; ms <= 1_000; ms += 1) {
    const bin = binOf(ms);
    while (histogram.length <= bin) histogram.push(0);
    histogram[bin]! += 1;
  }
  for (const share of [0.1, 0.5, 0.95, 1]) {
    const found = quantileOf(histogram, share);
    t.ok(found > share * 1_000 * 0.7 && found < share * 1_000 * 1.42, `${share}: ${found}`);
  }
  t.equal(quantileOf([], 0.5), 0);
  t.equal(quantileOf([5], 0.95), 0);
});
