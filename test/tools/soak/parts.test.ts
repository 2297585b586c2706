/** The soak's judgement: what counts as flat, what the ledger reports, what a plot shows. */
import { Ledger } from '@slipway/tools/soak/ledger';
import { MixedLoad } from '@slipway/tools/soak/load';
import { readOptions } from '@slipway/tools/soak/options';
import { plot } from '@slipway/tools/soak/plot';
import { judge } from '@slipway/tools/soak/report';
import { KEPT_LONG } from '@slipway/tools/soak/sample';
import type { Soak } from '@slipway/tools/soak/soak';
import type { Point } from '@slipway/tools/soak/trend';
import { trendOf } from '@slipway/tools/soak/trend';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

const TOLERANCE = { share: 0.05, least: 8 };

/** Returns a value each ten seconds of an hour. */
function hourOf(value: (minute: number) => number): Point[] {
  return Array.from({ length: 360 }, (_, n) => ({ minute: n / 6, value: value(n / 6) }));
}

t.test('a series is flat if it does not grow in the second half', async (t) => {
  const filled = trendOf(
    hourOf((minute) => Math.min(minute, 30) * 10),
    TOLERANCE,
  );
  t.match(filled, { median: 300, perHour: 0, allowed: 15, isFlat: true }, 'it was filled in the first half');
  const leaking = trendOf(
    hourOf((minute) => 100 + minute / 5),
    TOLERANCE,
  );
  t.notOk(leaking.isFlat);
  t.ok(Math.abs(leaking.perHour - 12) < 0.001, 'growth in an hour');
  const spiky = hourOf((minute) => (Math.floor(minute) % 7 === 0 ? 900 : 100));
  t.ok(trendOf(spiky, TOLERANCE).isFlat, 'spikes are no growth');
  const noisy = hourOf((minute) => 100 + minute / 2 + 20 * Math.sin(minute * 50));
  t.notOk(trendOf(noisy, TOLERANCE).isFlat, 'noise does not hide growth');
  t.ok(
    trendOf(
      hourOf((minute) => 500 - minute),
      TOLERANCE,
    ).isFlat,
    'shrinking is no growth',
  );
});

t.test('tables whose rows are kept for days may grow, and pages of Envoy; what is allocated may not', async (t) => {
  const growing = hourOf((minute) => 20 + minute);
  const judged = judge({
    ...{ minutes: 60, sent: {}, omitted: 0, acceptedJobs: 0, faults: [] },
    series: {
      tables: { all: growing, [KEPT_LONG]: growing },
      memory: { core: growing, Envoy: growing },
      heap: { Envoy: growing },
    } as Partial<Soak['series']> as Soak['series'],
  });
  t.match(judged, [
    { name: 'all', trend: { isFlat: false } },
    { name: KEPT_LONG, trend: { isFlat: true } },
    { subject: 'memory', name: 'core', trend: { isFlat: false } },
    { subject: 'memory', name: 'Envoy', trend: { isFlat: true } },
    { subject: 'heap', name: 'Envoy', trend: { isFlat: false } },
  ]);
});

t.test('a load ends with the work beside it, also if that fails', async (t) => {
  let [sent, answered] = [0, 0];
  const send = async (): Promise<void> => {
    sent += 1;
    await new Promise((resolve) => setImmediate(resolve));
    answered += 1;
  };
  const load = new MixedLoad([{ name: 'short', perSecond: 1_000, send }], new Ledger());
  const work = async (): Promise<void> => {
    await waitFor('a request', () => sent > 0);
    throw new Error('no sample');
  };
  await t.rejects(load.during(work), { message: 'no sample' });
  t.equal(answered, sent, 'its last answers have come');
});

t.test('a paused load sends nothing, and does not catch up afterwards', async (t) => {
  let sent = 0;
  const send = async (): Promise<void> => void (sent += 1);
  const load = new MixedLoad([{ name: 'rare', perSecond: 20, send }], new Ledger());
  await load.during(async () => {
    await waitFor('a request', () => sent > 0);
    const pauseMs = await load.paused(async () => {
      const [before, beganMs] = [sent, performance.now()];
      await waitFor('many more that would be due', () => performance.now() - beganMs > 1_000);
      t.equal(sent, before);
      return performance.now() - beganMs;
    });
    const [before, beganMs] = [sent, performance.now()];
    await waitFor('the next one', () => sent > before);
    const due = ((performance.now() - beganMs) / 1_000) * 20;
    t.ok(sent - before <= due + 1, `${sent - before} of ${due.toFixed(1)} after ${pauseMs.toFixed(0)} ms`);
  });
});

t.test('the ledger reports jobs without an end, and with two', async (t) => {
  const ledger = new Ledger();
  for (const id of ['one', 'two', 'three']) ledger.accepted(id, 'endpoint', 'run');
  ledger.ended('one', 'COMPLETED');
  ledger.ended('one', 'COMPLETED');
  t.equal(ledger.faultCount, 0, 'the same outcome may be read twice');
  t.same(ledger.open(), ['two', 'three']);
  ledger.ended('one', 'FAILED');
  ledger.ended('never', 'COMPLETED');
  ledger.accepted('two', 'endpoint', 'run');
  t.equal(ledger.faultCount, 3);
  t.same(ledger.faults(), [
    'run (2): job one ended as COMPLETED, then as FAILED',
    'run (2): job two was accepted twice',
    'outcome (1): job never ended as COMPLETED, but was never accepted',
  ]);
  t.same(ledger.counts('endpoint'), { COMPLETED: 1 });
});

t.test('a plot has a line and a name for each series, and a unit', async (t) => {
  const lines = ['core', 'a<b'].map((name, index) => ({ name, points: hourOf(() => 70 + index) }));
  const svg = plot('Memory', 'MiB', lines);
  t.match(svg, /^<svg [^]*<\/svg>\n$/);
  t.equal(svg.match(/<path stroke=/g)?.length, 2);
  for (const text of ['Memory, MiB', '>core<', '>a&lt;b<', 'minutes', 'prefers-color-scheme:dark', '>60<'])
    t.ok(svg.includes(text), text);
  const [first, second] = [...svg.matchAll(/y="([\d.]+)" style/g)].map(([, y]) => Number(y));
  t.ok(Math.round(Math.abs(first! - second!)) >= 14, 'names of close lines do not cover each other');
  t.ok(plot('Nothing', 'MiB', [{ name: 'none', points: [] }]).includes('none'), 'an empty line');
});

t.test('options', async (t) => {
  t.same(readOptions([], '/x'), {
    minutes: 60,
    everySeconds: 10,
    rate: 1,
    report: undefined,
    explain: false,
    help: false,
  });
  t.equal(readOptions(['--report', 'out'], '/x').report, '/x/out');
  t.throws(() => readOptions(['--minutes', '0'], '/x'), { message: /--minutes must be a number from 0.1 to 1440/ });
  t.throws(() => readOptions(['--rate', 'fast'], '/x'), { message: /--rate must be/ });
});
