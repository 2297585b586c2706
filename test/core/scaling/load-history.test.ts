// test: postgres
/** Load of endpoints over time: what waited and ran and how many workers there were; unknown where nobody sampled. */

import { HEARTBEAT_PERIOD_MS } from '@slipway/core/domain/machines/lease';
import type { LoadPeriod, StoredLoad } from '@slipway/core/domain/scaling/load-history';
import { loadHistory } from '@slipway/core/domain/scaling/load-history';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { LB, watchReplica } from '../rpc/machines/rotation-watch.ts';

t.setTimeout(600_000);

const NONE = { queued: 0, running: 0, workers: 0 };
const row = (periodId: number, atMs: number, queued: number): StoredLoad => ({ ...NONE, periodId, atMs, queued });

t.test('samples of periods', async (t) => {
  const history = (periods: readonly LoadPeriod[], rows: readonly StoredLoad[], sinceMs = 0, createdMs = 0) =>
    loadHistory({ periods, rows, createdMs, nowMs: 1_000_000 }, sinceMs).map(({ atMs, load }) => [atMs, load?.queued]);
  const one = { id: 1, startedMs: 100_000, sampledMs: 999_000 };
  t.same(
    history([one], []),
    [
      [100_000, 0],
      [999_000, 0],
    ],
    'without a row there is no load',
  );
  t.same(history([one], [row(1, 100_000, 4), row(1, 500_000, 40)]), [
    [100_000, 4],
    [500_000, 40],
    [999_000, 40],
  ]);
  t.same(
    history([one], [row(1, 500_000, 40)], 600_000),
    [
      [600_000, 40],
      [999_000, 40],
    ],
    'it holds at the beginning',
  );
  t.same(history([one], [row(1, 500_000, 40)], 0, 450_000)[0], [450_000, 0], 'not before the endpoint existed');
  t.same(history([], []), [], 'nothing is known');
  const [cut, later] = [
    { ...one, sampledMs: 300_000 },
    { id: 2, startedMs: 700_000, sampledMs: 900_000 },
  ];
  t.same(
    history([cut, later], [row(1, 100_000, 7), row(2, 800_000, 5)]),
    [
      [100_000, 7],
      [300_000, 7],
      [310_000, undefined],
      [700_000, 0],
      [800_000, 5],
      [900_000, 5],
      [910_000, undefined],
    ],
    'what was between two periods, and after the last one, is unknown',
  );
  t.same(history([cut, later], [row(1, 100_000, 7)], 400_000)[0], [700_000, 0], 'an unknown beginning is left out');
  const overlapping = { id: 2, startedMs: 290_000, sampledMs: 999_000 };
  t.same(
    history([cut, overlapping], [row(1, 100_000, 7), row(1, 295_000, 9)]),
    [
      [100_000, 7],
      [289_999, 7],
      [290_000, 0],
      [999_000, 0],
    ],
    'the later period holds',
  );
});

t.test('core samples what waits, runs and is there', async (t) => {
  /** Factor by which core's clock runs faster. */
  const SPEED = 8;
  const clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() * SPEED,
    after: (ms: number, fn: () => void) => systemClock.after(ms / SPEED, fn),
  };
  const core = await startReplicas(t, 1, {}, { clock });
  const endpointId = await core.createEndpoint({});
  const idle = await core.createEndpoint({});
  const { endpoints } = core.clients;
  const samples = async (id = endpointId) =>
    (await call(endpoints, 'getLoadHistory', { endpointId: id, spanMs: 0 }, core.key)).samples;
  // No worker will come: the scaler sees the first job and then nothing new.
  for (let n = 0; n < 3; n += 1) await core.submit(endpointId);
  await waitFor('the jobs in a sample', async () => (await samples()).at(-1)?.queued === 3);
  const before = (await samples()).length;
  const [{ sampled }] = (await core.sql`SELECT sampled_at AS sampled FROM load_period`) as unknown as [
    { sampled: Date },
  ];
  await waitFor('further samples', async () => {
    const [row] =
      await core.sql`SELECT sampled_at > ${sampled}::timestamptz + interval '1 s' AS later FROM load_period`;
    return row?.['later'] === true;
  });
  t.ok((await samples()).length <= before + 1, 'what does not change is not written again');
  t.match((await samples(idle)).at(-1), { unknown: false, ...NONE }, 'an endpoint without a row has no load');
  await core.joinAgent({ capacity: 3, heartbeatMs: HEARTBEAT_PERIOD_MS / SPEED, onAssignment: () => undefined });
  await waitFor('the jobs that run', async () => {
    const last = (await samples()).at(-1);
    return last?.queued === 0 && last.running === 3 && last.workers >= 1;
  });
  const balanced = await core.createEndpoint(LB);
  const invented = Array.from({ length: 3_000 }, (_, n) => `worker${String(n).padStart(8, '0')}`);
  const workers = invented.map((workerId) => ({ workerId, inFlight: 2 ** 31 - 1 }));
  watchReplica(t, core, 0).tell({ endpointId: balanced, workers });
  await waitFor('more requests than a sample can hold', async () => (await samples(balanced)).at(-1)?.running === 1e9);
  await core.sql`UPDATE endpoint SET created_at = now() - interval '1 h'`;
  await core.sql`
    INSERT INTO load_period (started_at, sampled_at) VALUES (now() - interval '10 min', now() - interval '9 min')`;
  const known = (await samples()).map(({ unknown }) => unknown);
  t.same(known.slice(0, 4), [false, false, true, false], 'the time without a core is unknown');
  await t.rejects(call(endpoints, 'getLoadHistory', { endpointId, spanMs: 1 }, core.key), { message: /span_ms is 1/ });
});
