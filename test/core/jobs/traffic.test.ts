// test: postgres
/**
 * Records of an endpoint's traffic: arrivals, waits, executions and starts; low priority is recorded separately; old
 * records are removed.
 */

import type { Job } from '@slipway/core/domain/jobs/job';
import { binOf, quantileOf } from '@slipway/core/domain/scaling/traffic';
import { TrafficMeter } from '@slipway/core/jobs/submit/traffic-meter';
import { TrafficWriter } from '@slipway/core/singleton-tasks/traffic-writer';
import { openStorage } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('jobs and starts are counted', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({
    capacity: 10,
    onAssignment: ({ input }) => {
      const asked = input!.toString();
      if (asked === '{"hold":true}') return undefined;
      return asked === '{"fail":true}'
        ? { kind: OutcomeKind.FAILED, error: 'as asked' }
        : { kind: OutcomeKind.COMPLETED };
    },
  });
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const jobs = await Promise.all([core.submit(endpointId), core.submit(endpointId), core.submit(endpointId, {}, true)]);
  const [failed, held] = [await core.submit(endpointId, { fail: true }), await core.submit(endpointId, { hold: true })];
  for (const { id } of [...jobs, failed]) t.match(await core.wait(endpointId, id), { attempt: 1 });
  await waitFor('it to run', async () => (await core.get(endpointId, held.id)).state === JobState.IN_PROGRESS);
  await core.sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${held.id}`;
  t.match(await core.wait(endpointId, held.id), { state: JobState.TIMED_OUT });
  const [worker] =
    await core.sql`SELECT ready_at >= created_at AS started FROM worker WHERE endpoint_id = ${endpointId}`;
  t.same(worker, { started: true });
  await core.replicas[0]!.stop();
  const seen = async () =>
    (
      await core.sql`
    SELECT sum(arrived)::int AS arrived, sum(arrived_low)::int AS low, sum(executed)::int AS executed,
      sum(completed)::int AS completed, sum(failed)::int AS failed,
      sum((SELECT sum(n) FROM unnest(executions) n))::int AS executions,
      sum((SELECT sum(n) FROM unnest(waits) n))::int AS waits
    FROM endpoint_traffic WHERE endpoint_id = ${endpointId}`
    )[0];
  t.same(
    await seen(),
    { arrived: 4, low: 1, executed: 4, completed: 3, failed: 2, executions: 4, waits: 3 },
    'the last of it when core stops',
  );
  const storage = openStorage(core.url, new Sealer('00'.repeat(32)), createLogger('test', 'silent'));
  t.teardown(() => storage.close());
  t.equal(await storage.stores.traffic.reap(100), 0, 'nothing is old');
  await core.sql`UPDATE endpoint_traffic SET ended_at = ended_at - interval '13 hours'`;
  t.ok((await storage.stores.traffic.reap(100)) >= 1);
  t.same(await seen(), {
    arrived: null,
    low: null,
    executed: null,
    completed: null,
    failed: null,
    executions: null,
    waits: null,
  });
});

t.test('traffic that could not be stored is stored by the next pass', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({});
  const logger = createLogger('test', 'silent');
  const { stores, close } = openStorage(core.url, new Sealer('00'.repeat(32)), logger);
  t.teardown(close);
  const traffic = new TrafficMeter();
  const write = async () => {
    const writer = new TrafficWriter({ stores, traffic, clock: systemClock, random: systemRandom, logger });
    await writer.start();
    await writer.stop();
  };
  const end = (lowPriority: boolean): void =>
    traffic.ended({ endpointId, state: 'COMPLETED', delayMs: 5, executionMs: 10 } as Job, lowPriority);
  traffic.arrived(endpointId, false);
  end(false);
  await core.sql`ALTER TABLE endpoint_traffic RENAME TO endpoint_traffic_away`;
  await write();
  await core.sql`ALTER TABLE endpoint_traffic_away RENAME TO endpoint_traffic`;
  traffic.arrived(endpointId, true);
  end(true);
  traffic.timedOut(endpointId);
  await write();
  const rows = await core.sql`
    SELECT arrived, arrived_low, executed, completed, failed, execution_ms::int,
      (SELECT sum(n) FROM unnest(executions) n)::int AS executions, (SELECT sum(n) FROM unnest(waits) n)::int AS waits
    FROM endpoint_traffic WHERE endpoint_id = ${endpointId}`;
  t.match(rows, [
    { arrived: 1, arrived_low: 1, executed: 2, completed: 2, failed: 1, execution_ms: 20, executions: 2, waits: 1 },
  ]);
  t.equal(traffic.take(), undefined, 'stored once');
});

t.test('how long jobs waited and ran, in all and by steps', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({});
  const { endpoints } = core.clients;
  const times = (spanMs: number) => call(endpoints, 'getJobTimes', { endpointId, spanMs }, core.key);
  const nothing = {
    total: { delay: { count: 0, p99Ms: 0 }, execution: { count: 0, p50Ms: 0 } },
    steps: [],
    stepMs: 60_000,
  };
  t.match(await times(0), nothing, 'an hour, in which nothing was');
  /** Records jobs of the given lengths, as the meter counts them. Waits of low priority are not recorded. */
  const ended = async (secondsAgo: number, lengthsMs: number[], waitsMs: number[]): Promise<void> => {
    const counted = (spans: number[]): number[] => {
      const bins: number[] = new Array<number>(Math.max(...spans.map(binOf)) + 1).fill(0);
      for (const ms of spans) bins[binOf(ms)]! += 1;
      return bins;
    };
    await core.sql`
      INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
      VALUES (${endpointId}, now() - ${secondsAgo}::int * interval '1 s', 10000, 0, ${lengthsMs.length}, 0,
        ${counted(lengthsMs)}, ${counted(waitsMs)})`;
  };
  const hundred = Array.from({ length: 100 }, (_, n) => n + 1);
  await ended(
    30 * 60,
    hundred.map((n) => n * 1_000),
    hundred.map(() => 3),
  );
  await ended(
    30 * 60,
    hundred.map((n) => n * 1_000),
    [500],
  );
  await ended(10, [20, 20, 20], [40_000]);
  const { total, steps, stepMs } = await times(3_600_000);
  t.equal(stepMs, 60_000);
  t.equal(steps.length, 2, 'the steps in which any ended');
  const [first, last] = steps;
  t.ok(first!.startTime!.getTime() % 60_000 === 0 && last!.startTime! > first!.startTime!);
  /** To half an octave: that of a bin. */
  const near = (found: number, wanted: number): boolean => found > wanted / 1.42 && found < wanted * 1.42;
  const { count, p50Ms, p95Ms, p99Ms } = first!.execution!;
  t.ok(
    count === 200 &&
      near(p50Ms, 50_000) &&
      near(p95Ms, 95_000) &&
      near(p99Ms, 99_000) &&
      p50Ms < p95Ms &&
      p95Ms <= p99Ms,
    `${p50Ms} ${p95Ms} ${p99Ms}`,
  );
  t.ok(first!.delay!.count === 101 && near(first!.delay!.p95Ms, 3), 'two replicas, or two rows of one, are one');
  t.ok(near(last!.execution!.p50Ms, 20) && near(last!.delay!.p50Ms, 40_000));
  t.match([total!.execution!.count, total!.delay!.count], [203, 102]);
  t.equal((await times(60_000)).total!.execution!.count, 3, 'no further back than one asks');
  t.ok((await times(43_200_000)).steps.length === 2);
  await core.sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, arrived_low, executed, execution_ms,
      executions, waits, completed, failed)
    SELECT ${endpointId}, now() - interval '10 minutes', 10000, r.*
    FROM (VALUES (7, 2, 0, 0, '{}'::int[], '{}'::int[], 5, 1), (1, 0, 0, 0, '{}', '{}', 0, 3)) AS r`;
  const { rates, steps: still } = await times(3_600_000);
  t.equal(still.length, 2, 'steps without an execution are no steps of times');
  t.match(
    rates
      .filter(({ arrived }) => arrived > 0)
      .map(({ startTime, ...counts }) => [startTime!.getTime() % 60_000, counts])
      .at(-1),
    [0, { arrived: 10, completed: 5, failed: 4 }],
  );
  for (const spanMs of [1, 59_999, 43_200_001, -1])
    await t.rejects(times(spanMs), /must be from 60000 to 43200000/, String(spanMs));
});

t.test(
  'twelve hours of three replicas are summed up in the database, and come as no more than the steps',
  async (t) => {
    const core = await startReplicas(t);
    const endpointId = await core.createEndpoint({});
    await core.sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
    SELECT ${endpointId}, now() - i * interval '10 s', 10000, 30000, 30000, 0, array_fill(1000, ARRAY[30]),
      array_fill(1000, ARRAY[30])
    FROM generate_series(1, 4319) AS i, generate_series(1, 3)`;
    const before = performance.now();
    const { total, steps } = await call(
      core.clients.endpoints,
      'getJobTimes',
      { endpointId, spanMs: 43_200_000 },
      core.key,
    );
    t.ok(steps.length >= 60 && steps.length <= 61, `${steps.length} steps`);
    t.equal(total!.execution!.count, 4_319 * 3 * 30_000);
    t.comment(`${Math.round(performance.now() - before)} ms`);
  },
);

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
