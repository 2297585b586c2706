// test: 10 s
/**
 * The SLO scaler: its recommendations and reasons, its cost compared with QUEUE_DELAY, no flapping, and scale to zero.
 */

import type { ModelJob } from '@slipway/core/domain/scaling/model/scale-model';
import type { ScaleSample } from '@slipway/core/domain/scaling/scaler';
import { sloScaler } from '@slipway/core/domain/scaling/slo-scaler';
import t from 'tap';
import type { Cut } from '../../../fleet/recorded.ts';
import { recordedJobs, WHOLE } from '../../../fleet/recorded.ts';
import { matches, matchOf, play, settingsOf, wins } from '../../../fleet/scalers.ts';
import { LARGE_MODEL, recordedTrace, traces } from '../../../fleet/traces.ts';
import { ROWS, sample, traffic, worker } from './slo-scaler-rows.ts';

for (const [what, given, scalerValue, wanted, reason] of ROWS) {
  t.test(what, async (t) => {
    const settings = settingsOf({ scalerType: 'SLO', scalerValue, workersMax: 60, flashBoot: true });
    const recommended = sloScaler(given, settings);
    t.equal(recommended.workers, wanted, recommended.reason);
    t.match(recommended.reason, reason);
    t.match(
      recommended.reason,
      / \(\d+ wait, the first for [\d.]+ s, \d+ run; [\d.]+ jobs a minute of [\d.]+ s, a start takes/,
      'with its numbers',
    );
    t.same(
      sloScaler(JSON.parse(JSON.stringify(given)) as ScaleSample, settings),
      recommended,
      'the same again from the sample as it is kept',
    );
  });
}

t.test('a recorded load is replayed in order', async (t) => {
  const [, diurnal] = traces(44);
  const written = diurnal!.jobs
    .map(({ atMs, executionMs }) => `${atMs + 1_700_000_000_000},${executionMs}`)
    .reverse()
    .join('\n');
  const recorded = recordedTrace(written, [18_000, 20_000, 24_000], 44);
  const firstMs = diurnal!.jobs[0]!.atMs;
  t.same(
    recorded.jobs.map(({ executionMs }) => executionMs).sort(),
    diurnal!.jobs.map(({ executionMs }) => executionMs).sort(),
  );
  t.same(
    recorded.jobs.map(({ atMs }) => atMs),
    diurnal!.jobs.map(({ atMs }) => atMs - firstMs),
  );
  t.ok(wins(matchOf([recorded], 7)));
  for (const bad of ['', '1', '1,2,3', '1,x', '-1,2'])
    t.throws(() => recordedTrace(bad, [1], 1), /two numbers of milliseconds/, bad);
});

t.test('recorded loads as others publish them', async (t) => {
  const tokens = [
    { atMs: 0, executionMs: 1_300 },
    { atMs: 500, executionMs: 4_000 },
  ];
  const published: [what: string, text: string, jobs: ModelJob[]][] = [
    [
      'Azure',
      'TIMESTAMP,ContextTokens,GeneratedTokens\n' +
        '2023-11-16 18:17:03.9799600,2000,30\n' +
        '2023-11-16 18:17:04.4799600,5000,100\n',
      tokens,
    ],
    [
      'BurstGPT',
      'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n' +
        '5,ChatGPT,2000,30,2030,API log\n' +
        '5.5,GPT-4,5000,100,5100,x',
      tokens,
    ],
    [
      'Mooncake',
      '{"timestamp": 3000, "input_length": 2000, "output_length": 30}\n' +
        '{"timestamp": 3500, "input_length": 5000, "output_length": 100}',
      tokens,
    ],
    [
      'GenTD26',
      'gmt_create,predict_type,exec_time_seconds\n' +
        '2024-11-15 16:58:00,A,43.0\n' +
        '2024-11-15 16:57:50,A,32.0\n' +
        '2024-11-15 16:58:10,A,0.0',
      [
        { atMs: 0, executionMs: 32_000 },
        { atMs: 10_000, executionMs: 43_000 },
      ],
    ],
  ];
  for (const [what, text, jobs] of published) t.same(recordedJobs(text), jobs, what);
  const ten = Array.from({ length: 10 }, (_, n) => `${n * 60_000},${n + 1}`).join('\n');
  const cut = (given: Partial<Cut>) => recordedJobs(ten, { ...WHOLE, ...given }).map(({ executionMs }) => executionMs);
  t.same(cut({ every: 4 }), [1, 5, 9]);
  t.same(cut({ every: 4, offset: 5 }), [2, 6, 10], 'another part of them');
  t.same(cut({ fromMs: 120_000, untilMs: 300_000 }), [3, 4, 5]);
  t.same(cut({ only: '180000' }), [4]);
  t.throws(() => cut({ only: 'x' }), /no job/);
  t.throws(() => recordedJobs('at,ran\n1,2'), /columns of a public one/);
});

t.test(
  'varying starts: a starting worker counts by its chance to be in time, an overdue one by longer starts',
  async (t) => {
    const settings = settingsOf({ scalerType: 'SLO', scalerValue: 10, workersMax: 60 });
    const wanted = (queued: number, startsMs: number[], ...agesMs: number[]) =>
      sloScaler(
        sample({
          queued,
          workers: agesMs.map((ageMs) => worker({ state: 'INITIALIZING', ageMs })),
          traffic: traffic({ startMs: 40_000, startsMs, executionMs: 60_000 }),
        }),
        settings,
      ).workers;
    t.equal(wanted(2, [2_000, 2_000, 2_000, 50_000], 0, 0), 3, 'of two starts one may well be late');
    const mostlySoon = [...Array<number>(19).fill(2_000), 50_000];
    t.equal(wanted(1, mostlySoon, 0), 1);
    t.equal(wanted(1, mostlySoon, 5_000), 2, 'it is one of the long ones');
  },
);

// Seeds that were not used to develop the scaler.
t.test(
  'compared with QUEUE_DELAY: half the wait for the same GPU seconds, or the same wait for 70 % of them',
  async (t) => {
    const usual = matches([41, 42, 43]);
    t.same(
      usual.map(({ shape }) => shape),
      ['burst', 'diurnal', 'trickle', 'ramp'],
    );
    for (const match of usual)
      t.ok(match.slo.p95WaitMs <= match.target * 1_100, `${match.shape}: the target is kept, but for chance`);
    for (const match of [...usual, ...matches([44], LARGE_MODEL)]) t.ok(wins(match), JSON.stringify(match));
  },
);

t.test('no flapping under a steady load', async (t) => {
  const [any] = traces(4);
  const jobs = Array.from({ length: 3_600 }, (_, n) => ({ atMs: n * 500, executionMs: 4_000 + (n % 7) * 600 }));
  const { starts, waitsMs } = play(
    { ...any!, jobs, untilMs: 1_800_000 },
    settingsOf({ scalerType: 'SLO', scalerValue: 5 }),
  );
  t.ok(starts <= 30, `${starts} starts for the 12 that are at work on average, in half an hour`);
  t.ok(
    waitsMs.slice(400).every((ms) => ms <= 5_000),
    'nobody waits too long once it goes',
  );
  for (const [chosen, most] of [
    [{}, 40],
    [{ scalerType: 'REQUEST_COUNT', scalerValue: 1 }, 55],
  ] as const) {
    const other = play({ ...any!, jobs, untilMs: 1_800_000 }, settingsOf(chosen));
    t.ok(other.starts <= most, `${JSON.stringify(chosen)}: ${other.starts} starts`);
  }
});

t.test('scale to zero after the last job', async (t) => {
  for (const trace of traces(5)) {
    const { spans } = play(trace, settingsOf({ scalerType: 'SLO', scalerValue: 5 }));
    const last = trace.jobs.at(-1)!;
    t.ok(Math.max(...spans.map(({ untilMs }) => untilMs)) < last.atMs + 15 * 60_000, trace.name);
  }
});
