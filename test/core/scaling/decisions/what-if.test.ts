// test: postgres, 10 s
/**
 * What-if questions: the model matches the history, other settings give other figures, nothing is changed, and invalid
 * questions are rejected.
 */

import type { ModelResult } from '@slipway/core/domain/scaling/model/scale-model';
import { answerWhatIf } from '@slipway/core/domain/scaling/model/what-if';
import type { ScaleSettings } from '@slipway/core/domain/scaling/scaler';
import type { TrafficSpan } from '@slipway/core/domain/scaling/traffic';
import { binOf } from '@slipway/core/domain/scaling/traffic';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { Endpoint, EndpointType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { play, settingsOf } from '../../../fleet/scalers.ts';
import type { Trace } from '../../../fleet/traces.ts';
import { traces } from '../../../fleet/traces.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const SPAN_MS = 10_000;

/** Returns the records that core would have made of a load. */
function spansOf({ jobs, untilMs }: Trace, { waitsMs }: ModelResult): TrafficSpan[] {
  const spans: (TrafficSpan & { executions: number[]; waits: number[] })[] = Array.from(
    { length: Math.ceil(untilMs / SPAN_MS) },
    (_, n) => ({
      endMs: (n + 1) * SPAN_MS,
      spanMs: SPAN_MS,
      arrived: 0,
      executed: 0,
      executionMs: 0,
      executions: new Array<number>(62).fill(0),
      waits: new Array<number>(62).fill(0),
    }),
  );
  for (const [n, { atMs, executionMs }] of jobs.entries()) {
    const span = spans[Math.floor(atMs / SPAN_MS)]!;
    span.arrived += 1;
    span.executed += 1;
    span.executionMs += executionMs;
    span.executions[binOf(executionMs)]! += 1;
    span.waits[binOf(waitsMs[n]!)]! += 1;
  }
  return spans.filter(({ arrived }) => arrived > 0);
}

t.test('the model is near the history, and other settings near their result', async (t) => {
  const secondsOf = ({ spans }: ModelResult): number =>
    spans.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0) / 1_000;
  for (const trace of traces(7).filter(({ name }) => name !== 'trickle')) {
    const before: ScaleSettings = settingsOf({});
    const change: Partial<ScaleSettings> = { scalerType: 'SLO', scalerValue: 10 };
    const truth = { before: play(trace, before), after: play(trace, { ...before, ...change }) };
    const startsMs = Array.from({ length: 20 }, (_, n) => trace.startMs(n));
    const recorded = {
      spans: spansOf(trace, truth.before),
      decisions: [],
      workers: truth.before.spans,
      startsMs,
      slots: 1,
      gpus: 2,
    };
    const { total, periods, notes } = workNow(answerWhatIf(recorded, before, change, trace.untilMs));
    const near = (found: number, wanted: number): boolean => found > wanted * 0.75 && found < wanted * 1.25;
    t.equal(total!.jobs, trace.jobs.length, trace.name);
    t.equal(
      periods.reduce((sum, { jobs }) => sum + jobs, 0),
      trace.jobs.length,
    );
    t.ok(near(total!.measured.workerSeconds, secondsOf(truth.before)), 'as it was metered');
    t.equal(total!.measured.gpuSeconds, total!.measured.workerSeconds * 2);
    t.ok(
      near(total!.asItWas.workerSeconds, secondsOf(truth.before)),
      `${trace.name}: ${total!.asItWas.workerSeconds} for ${secondsOf(truth.before)}`,
    );
    t.ok(
      near(total!.wouldBe.workerSeconds, secondsOf(truth.after)),
      `${trace.name}: ${total!.wouldBe.workerSeconds} for ${secondsOf(truth.after)}`,
    );
    t.ok(
      near(total!.asItWas.p95WaitMs, total!.measured.p95WaitMs),
      `${trace.name}: ${total!.asItWas.p95WaitMs} for ${total!.measured.p95WaitMs}`,
    );
    t.match(notes.join('\n'), /Measured: [^]*Modelled: [^]*No decision was recorded/);
  }
});

t.test('too many workers over too many hours are rejected, with a hint', async (t) => {
  const hours = 12;
  const span: TrafficSpan = {
    endMs: SPAN_MS,
    spanMs: SPAN_MS,
    arrived: 1,
    executed: 1,
    executionMs: 1,
    executions: [1],
    waits: [1],
  };
  const recorded = { spans: [span], decisions: [], workers: [], startsMs: [1], slots: 1, gpus: 1 };
  const ask = (workersMin: number) =>
    workNow(answerWhatIf(recorded, settingsOf({}), { workersMin, workersMax: 10_000 }, hours * 3_600_000));
  t.throws(
    () => ask(10_000),
    /^10000 workers over 12 h are too many to model: ask for fewer hours, or for less in workersMin or workersMax/,
  );
  t.equal(Math.round(ask(10).total!.wouldBe.workers), 10, 'a large workersMax alone costs nothing');
});

t.test('with a real core', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({
    workersMin: 0,
    workersMax: 4,
    scalerType: ScalerType.REQUEST_COUNT,
    scalerValue: 1,
    idleTimeoutSeconds: 1,
  });
  const ask = (fields: Partial<Endpoint>, hours = 0, id = endpointId) =>
    call(
      core.clients.endpoints,
      'whatIf',
      {
        endpoint: Endpoint.fromPartial({ ...fields, id }),
        hours,
        updateMask: Object.keys(fields).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
      },
      core.key,
    );
  t.match(await ask({ workersMax: 5 }), { periods: [], total: undefined, notes: [/No job came/] });
  const jobs = await Promise.all(Array.from({ length: 3 }, () => core.submit(endpointId)));
  for (const { id } of jobs) await core.wait(endpointId, id);
  // An hour ago: 40 jobs of 20 s within 10 s, each of which waited 5 s.
  const histogram = (ms: number): string =>
    `{${Array.from({ length: 40 }, (_, bin) => (bin === binOf(ms) ? 40 : 0)).join(',')}}`;
  await core.sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
    VALUES (${endpointId}, now() - interval '1 hour', 10000, 40, 40, 800000, ${histogram(20_000)}::int[],
      ${histogram(5_000)}::int[])`;
  const before = await core.sql`SELECT xmin::text AS x, workers_max FROM endpoint WHERE id = ${endpointId}`;
  const same = await ask({});
  t.same(same.total!.wouldBe, same.total!.asItWas, 'with no other settings');
  t.ok(same.total!.jobs >= 40 && same.total!.measured!.p95WaitMs > 4_000 && same.periods.length === 12);
  t.ok(same.replayedDecisions > 0 && same.changedDecisions === 0, 'each recorded decision is made again');
  const fewer = await ask({ workersMax: 1 });
  t.ok(fewer.total!.wouldBe!.p95WaitMs > 700_000, 'one worker for 40 jobs of 20 s');
  t.ok(fewer.total!.asItWas!.p95WaitMs < 250_000, 'four of them, as it was');
  t.ok(fewer.changedDecisions > 0, 'three jobs wanted more than one');
  t.same(
    await core.sql`SELECT xmin::text AS x, workers_max FROM endpoint WHERE id = ${endpointId}`,
    before,
    'nothing is changed',
  );
  await t.rejects(ask({ workersMax: -1 }), /workers_max is -1/);
  await t.rejects(ask({ name: 'x' }), /name is not a setting that scaling uses; there are workers_min/);
  await t.rejects(ask({}, 13), /hours is 13, but must be from 1 to 12/);
  await t.rejects(ask({}, 0, 'nosuchendpoint'), /nosuchendpoint/);
  const balanced = await core.createEndpoint({ type: EndpointType.LB, workersMin: 0 });
  await t.rejects(ask({}, 0, balanced), /load-balancing/);
});
