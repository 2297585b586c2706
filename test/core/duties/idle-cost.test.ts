/** What a fleet costs while nothing happens: statements at PostgreSQL, counted on their way. Whoever adds a poll finds it here. */
import t from 'tap';
import { systemClock } from '../../../core/runtime/clock.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { countingProxy } from '../../helpers/counting-proxy.ts';
import type { CountingProxy } from '../../helpers/counting-proxy.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import { createDatabase } from '../../helpers/database.ts';
import { waitFor } from '../../helpers/wait-for.ts';

t.setTimeout(120_000);

const SLEEPING = 1_000;
const ACTIVE = 50;
/** The clock of core goes so many times as fast, so that a span of seconds has many passes of each loop: where its ends lie hardly counts. */
const SPEED = 2;
const fast: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * SPEED, after: (ms, fn) => systemClock.after(ms / SPEED, fn) };
/** What starts asks more for so long, in milliseconds of that clock. */
const START_MS = 4_000;
/** In milliseconds of that clock. */
const SPAN_MS = 10_000;
/** Statements a second of one core, and of three, at the most. */
const ONE_MAX = 5;
const THREE_MAX = 1.2 * ONE_MAX;

/** Statements a second of core's clock, by text, over a span in which nothing is asked of it. */
async function perSecond(proxy: CountingProxy): Promise<{ total: number; each: string[] }> {
  const pass = (ms: number, since = fast.monotonicMs()) => waitFor('the span to pass', () => fast.monotonicMs() - since >= ms);
  await pass(START_MS);
  const sinceMs = fast.monotonicMs();
  proxy.take();
  await pass(SPAN_MS);
  const seconds = (fast.monotonicMs() - sinceMs) / 1_000;
  const counts = [...proxy.take()].sort((a, b) => b[1] - a[1]);
  return { total: counts.reduce((sum, [, count]) => sum + count, 0) / seconds, each: counts.map(([text, count]) => `${count} ${text.slice(0, 100)}`) };
}

t.test('statements a second', async (t) => {
  const { url } = await createDatabase(t);
  const proxy = await countingProxy(t, url);
  const core = await startReplicas(t, 1, {}, { url: proxy.url, clock: fast });
  const templateId = await core.createTemplate();
  await core.sql`
    INSERT INTO endpoint (id, account_id, name, template_id, workers_min, workers_max)
    SELECT 'sleeping' || n, ${core.accountId}, 'test', ${templateId}, 0, 3 FROM generate_series(1, ${SLEEPING}) n`;
  const one = await perSecond(proxy);
  t.ok(one.total > 1 && one.total <= ONE_MAX, `${SLEEPING} sleeping endpoints: 5 a second in all:\n${one.each.join('\n')}`);

  await Promise.all([core.startReplica(), core.startReplica()]);
  const three = await perSecond(proxy);
  t.ok(three.total <= THREE_MAX, `with three of core hardly more:\n${three.each.join('\n')}`);

  await core.joinAgent({ cpuSlots: ACTIVE });
  await Promise.all(Array.from({ length: ACTIVE }, () => core.createEndpoint({ templateId })));
  await waitFor('their workers', async () => (await core.sql`SELECT FROM worker WHERE state = 'READY'`).length === ACTIVE);
  const active = await perSecond(proxy);
  t.ok((active.total - three.total) / ACTIVE <= 0.3, `a part of a statement for each active endpoint:\n${active.each.join('\n')}`);
  t.comment(`one core ${one.total.toFixed(1)}, three ${three.total.toFixed(1)}, with ${ACTIVE} active endpoints and a machine ${active.total.toFixed(1)}`);
});
