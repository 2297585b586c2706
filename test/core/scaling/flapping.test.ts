/** Loads around a threshold over thousands of decisions: workers do not flap with any scaler, and stop in the end. */

import type { ModelJob } from '@slipway/core/domain/scaling/model/scale-model';
import type { ScaleSettings } from '@slipway/core/domain/scaling/scaler';
import t from 'tap';
import { play, settingsOf } from '../../fleet/scalers.ts';
import { randomOf } from '../../helpers/time/random-of.ts';
import { SEED } from '../../helpers/time/seeded-random.ts';

const HOUR_MS = 3_600_000;
/** Until then workers follow the load. */
const SETTLED_MS = 600_000;
const IDLE_MS = 5_000;
const SCALERS: [what: string, chosen: Partial<ScaleSettings>][] = [
  ['QUEUE_DELAY', {}],
  ['REQUEST_COUNT', { scalerType: 'REQUEST_COUNT', scalerValue: 1 }],
  ['SLO', { scalerType: 'SLO', scalerValue: 4 }],
];

/** Counts of workers. */
interface Changes {
  /** Workers started and stopped since the load was steady. */
  came: number;
  went: number;
  /** At the end. */
  left: number;
}

/** Simulates an hour with one decision per second. Starts take 2 s by default. */
function hour(jobs: readonly ModelJob[], chosen: Partial<ScaleSettings>, startMs = 2_000): Changes {
  const ordered = jobs.filter(({ atMs }) => atMs < HOUR_MS).sort((a, b) => a.atMs - b.atMs);
  const { spans } = play(
    { name: '', jobs: ordered, untilMs: HOUR_MS, startMs: () => startMs },
    settingsOf({ idleTimeoutSeconds: IDLE_MS / 1_000, ...chosen }),
  );
  return {
    came: spans.filter(({ fromMs }) => fromMs > SETTLED_MS).length,
    left: spans.filter(({ untilMs }) => untilMs >= HOUR_MS).length,
    went: spans.filter(({ untilMs }) => untilMs > SETTLED_MS && untilMs < HOUR_MS).length,
  };
}

/** Jobs that are present nearly all the time. */
function always(count: number, untilMs = HOUR_MS): ModelJob[] {
  return every(10_000, untilMs).flatMap((atMs) =>
    Array.from({ length: count }, (_, n) => ({ atMs: atMs + n, executionMs: 9_990 })),
  );
}

function every(ms: number, untilMs = HOUR_MS): number[] {
  return Array.from({ length: Math.ceil(untilMs / ms) }, (_, n) => n * ms);
}

for (const [what, chosen] of SCALERS) {
  t.test(`${what}: one more job for less than idleTimeout changes no worker`, async (t) => {
    for (const offMs of [500, 1_500, 3_000]) {
      const jobs = [...always(3), ...every(1_000 + offMs).map((atMs) => ({ atMs, executionMs: 1_000 }))];
      t.match(hour(jobs, chosen), { came: 0, went: 0 }, `not there for ${offMs} ms`);
    }
  });

  t.test(`${what}: bursts with pauses below idleTimeout change no worker`, async (t) => {
    for (const count of [2, 3, 6]) {
      const jobs = every(5_000).flatMap((atMs) => Array.from({ length: count }, () => ({ atMs, executionMs: 1_500 })));
      t.match(hour(jobs, chosen), { came: 0, went: 0 }, `${count} at once`);
    }
  });

  t.test(`${what}: pauses around idleTimeout: workers only stop in longer ones`, async (t) => {
    const random = randomOf(SEED);
    const [jobs, longer]: [ModelJob[], number[]] = [[], []];
    for (let atMs = 0; atMs < HOUR_MS; ) {
      const offMs = 4_000 + random.below(2_000);
      jobs.push({ atMs, executionMs: 1_000 });
      atMs += 1_000 + offMs;
      if (offMs >= IDLE_MS && atMs > SETTLED_MS) longer.push(offMs);
    }
    const { came, went } = hour([...jobs, ...always(3)], chosen);
    t.ok(
      longer.length > 50 && went <= longer.length && came <= longer.length,
      `${went} went and ${came} came in ${longer.length} such pauses`,
    );
  });

  t.test(`${what}: no workers remain after the load ends`, async (t) => {
    t.match(
      hour(
        [...always(3, HOUR_MS / 2), ...every(2_000, HOUR_MS / 2).map((atMs) => ({ atMs, executionMs: 1_000 }))],
        chosen,
      ),
      { left: 0 },
    );
  });
}

t.test('idleTimeout prevents flapping: with a shorter one the same load changes workers all the time', async (t) => {
  const jobs = [...always(3), ...every(4_000).map((atMs) => ({ atMs, executionMs: 1_000 }))];
  const { came, went } = hour(jobs, { scalerType: 'REQUEST_COUNT', scalerValue: 1, idleTimeoutSeconds: 1 });
  t.ok(came > 300 && went > 300, `${came} came and ${went} went`);
});

t.test('SLO: random jobs near the retention rate: one worker stays, while QUEUE_DELAY starts new ones', async (t) => {
  const random = randomOf(SEED);
  const jobs: ModelJob[] = [];
  for (let atMs = 0; atMs < HOUR_MS; atMs += Math.round(-Math.log(1 - random.fraction()) * 90_000))
    jobs.push({ atMs, executionMs: 2_000 });
  const [slo, delay] = [{ scalerType: 'SLO', scalerValue: 5 } as const, {}].map((chosen) =>
    hour(jobs, chosen, 60_000),
  ) as [Changes, Changes];
  t.ok(slo.came * 10 < delay.came, `${slo.came} and ${delay.came} starts for ${jobs.length} jobs`);
});
