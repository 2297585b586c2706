// test: postgres
/** Counts of requests to load-balancing endpoints: whatever one reporter sends, those of all others are stored. */
import { RequestMeter } from '@slipway/core/edge/request-meter';
import { RequestWriter } from '@slipway/core/edge/request-writer';
import { requestMetrics } from '@slipway/core/metrics/request-metrics';
import { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import { Metrics } from '@slipway/kit/observe/metrics';
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { DURATION_BINS_MAX, noRequests } from '@slipway/kit/observe/request-counts';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { LIVE_MACHINES, logger, startEngines } from '../../helpers/system/job-engine.ts';

const engines = await startEngines(t, { idle: true });
const { requests } = engines.stores;
const FAILED = {
  ...{ atMs: 1_000, method: 'GET', path: '/', hasQuery: false, status: 500, durationMs: 1, workerId: '', cause: '' },
};

function counts(more: Partial<RequestCounts> = {}): RequestCounts {
  return { ...noRequests(), outcomes: [1, 0, 0, 0, 0, 0], durations: [1], ...more };
}

const recorded = (endpointId: string) => requests.recorded(endpointId, 3_600_000, 60_000);

t.test('a failed request with values that PostgreSQL does not store', async (t) => {
  const others: [string, Partial<typeof FAILED>][] = [
    ['a time that is none', { atMs: NaN }],
    ['a time before all calendars', { atMs: -8_640_000_000_000_000 }],
    ['a time after all calendars', { atMs: 8_640_000_000_000_000 }],
    ['a WebSocket of 25 days', { durationMs: 25 * 86_400_000 }],
    ['a status beyond all', { status: 4_000_000_000 }],
    ['a path that is cut within a character', { path: `/${'😀'.slice(0, 1)}` }],
    ['a cause with NUL', { cause: 'a\0b' }],
  ];
  for (const [name, wrong] of others) {
    const [bad, good] = [await engines.endpoint({ type: 'LB' }), await engines.endpoint({ type: 'LB' })];
    const meter = new RequestMeter(() => undefined);
    meter.fail(bad, { ...FAILED, ...wrong });
    meter.add(good, 'worker', counts());
    await requests.append(meter.take()!, 10_000);
    t.match(await recorded(good), { workers: [{ workerId: 'worker', outcomes: [1, 0, 0, 0, 0, 0] }] }, name);
    t.equal((await recorded(bad)).failed.length, 1, `${name}: it is listed`);
  }
});

t.test('sums that grow without end stay at the largest', async (t) => {
  const [bad, good] = [await engines.endpoint({ type: 'LB' }), await engines.endpoint({ type: 'LB' })];
  const meter = new RequestMeter(() => undefined);
  const large = counts({ outcomes: [2_000_000_000, 0, 0, 0, 0, 0], bytesIn: 1e15, bytesOut: 1e15, durationMs: 1e15 });
  for (let report = 0; report < 12; report += 1) {
    for (let worker = 0; worker < 1_000; worker += 1) meter.add(bad, `w${worker}`, large);
    meter.add(bad, 'w0', large);
    meter.add(good, 'worker', counts({ bytesIn: 1 }));
    await requests.append(meter.take()!, 10_000);
  }
  const { ever, steps } = await recorded(bad);
  t.match(ever, { bytesIn: Number.MAX_SAFE_INTEGER, durationMs: Number.MAX_SAFE_INTEGER });
  t.equal(steps.length > 0, true);
  t.match((await recorded(good)).ever, { outcomes: [12, 0, 0, 0, 0, 0], bytesIn: 12 });
});

t.test('thousands of workers that one endpoint invents take no place of another', async (t) => {
  const meter = new RequestMeter(() => undefined);
  for (let worker = 0; worker < 30_000; worker += 1) meter.add('invented', `w${worker}`, counts());
  meter.add('other', 'worker', counts());
  const taken = meter.take()!.counts;
  t.match(
    taken.filter(({ endpointId }) => endpointId === 'other'),
    [{ workerId: 'worker' }],
  );
  t.equal(
    taken.reduce((sum, { outcomes }) => sum + outcomes[0]!, 0),
    30_001,
    'those that are too many are counted together',
  );
  t.equal(taken.length, 1_002);
});

t.test('counts that cannot be stored for long stay bounded', async (t) => {
  const meter = new RequestMeter(() => undefined);
  for (let period = 0; period < 5; period += 1) {
    for (let worker = 0; worker < 1_000; worker += 1) meter.add('invented', `w${period} ${worker}`, counts());
    meter.putBack(meter.take()!);
    const kept = meter.take()!;
    for (let worker = 0; worker < 1_000; worker += 1) meter.add('invented', `v${period} ${worker}`, counts());
    meter.putBack(kept);
  }
  const taken = meter.take()!.counts;
  t.equal(taken.length, 1_001);
  t.equal(
    taken.reduce((sum, { outcomes }) => sum + outcomes[0]!, 0),
    10_000,
    'none is lost',
  );
});

t.test('ids that are no workers of the endpoint become no rows of their own', async (t) => {
  const [endpointId, other] = [await engines.endpoint({ type: 'LB' }), await engines.endpoint({ type: 'LB' })];
  const workers = [
    ['worker0000real', endpointId],
    ['worker000other', other],
  ] as const;
  for (const [id, of] of workers)
    await engines.sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state)
      VALUES (${id}, ${of}, ${LIVE_MACHINES[0]!}, 1, 'READY')`;
  const meter = new RequestMeter(() => undefined);
  const writer = new RequestWriter({ requests, meter, clock: systemClock, random: systemRandom, logger });
  for (const id of ['', 'worker0000real', 'worker000other', ...Array.from({ length: 500 }, (_, n) => `invented${n}`)])
    meter.add(endpointId, id, counts());
  await writer.start();
  await writer.stop();
  const rows = await engines.sql<{ worker: string; requests: number }[]>`
    SELECT worker_id AS worker, outcomes[1] AS requests FROM endpoint_requests WHERE endpoint_id = ${endpointId}
    ORDER BY 1`;
  t.same(rows, [
    { worker: '', requests: 502 },
    { worker: 'worker0000real', requests: 1 },
  ]);
});

t.test('a billion requests in one report are measured at once, and not one by one', async (t) => {
  const metrics = new Metrics();
  const { onRequests } = requestMetrics(metrics, new BoundedNames(10));
  const durations = Array.from({ length: DURATION_BINS_MAX }, () => 20_000);
  for (let worker = 0; worker < 1_000; worker += 1) onRequests('many', counts({ durations }));
  onRequests('one', counts());
  const { text } = await metrics.read();
  t.match(text, 'slipway_core_request_duration_seconds_count{endpoint="many"} 1240000000\n');
  t.match(text, 'slipway_core_request_duration_seconds_bucket{le="0.001",endpoint="one"} 1\n');
});
