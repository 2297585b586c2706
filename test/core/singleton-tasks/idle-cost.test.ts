// test: postgres, 50 s
/**
 * The cost of an idle fleet: statements at PostgreSQL, counted on their way. A new poll shows up here. At first a core
 * alone waits for events; after a while without any its loops rest. With others beside it they never do.
 */

import { HEARTBEAT_PERIOD_MS } from '@slipway/core/domain/machines/lease';
import { QUIET_AFTER_MS, REST_MS } from '@slipway/kit/lifecycle/activity';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CountingProxy } from '../../helpers/net/counting-proxy.ts';
import { countingProxy } from '../../helpers/net/counting-proxy.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const SLEEPING = 1_000;
/** Machines that have joined and run nothing. */
const MACHINES = 20;
const ACTIVE = 50;
/**
 * Factor by which core's clock runs faster. A span of seconds then has many passes of each loop, so that its ends
 * hardly count.
 */
const SPEED = 4;
const fast: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * SPEED,
  after: (ms, fn) => systemClock.after(ms / SPEED, fn),
};
/** Time during which starting parts send more statements, in milliseconds of core's clock. */
const START_MS = 4_000;
/** In milliseconds of that clock: some 110 statements of one core, of which its ends may cut off or add a handful. */
const SPAN_MS = 24_000;
/** With the start it is over before the loops of a core alone rest. */
if (START_MS + SPAN_MS >= QUIET_AFTER_MS) throw new Error('the span of a core alone ends too late');
/** The same for a core whose loops rest. */
const RESTING_SPAN_MS = 60_000;
/** Most statements per second of a core whose loops rest. */
const RESTING_MAX = 2;
/**
 * Most statements per second of one core; and, for three cores, the largest multiple of one core's measured count. Both
 * are per evaluation of all endpoints, which happens once a second, and less often on a busy machine, like everything
 * else. Other load on the machine therefore does not affect the result.
 */
const ONE_MAX = 5.5;
const THREE_TIMES_MAX = 1.3;
/**
 * The statement that each core sends for itself: that it listens, and which singleton tasks are free. It lets a core
 * take over a task within 3 s. All other statements are sent by one core only.
 */
const OWN = /^\s*SELECT pg_backend_pid\(\) AS pid, EXISTS \(SELECT FROM pg_listening_channels/;
/**
 * Highest cost of machines, in statements per second. It is counted separately because it cannot be avoided, and
 * because most of it grows with the machines and not with endpoints. A machine sends a heartbeat every 2 s; heartbeats
 * that arrive during a write are written in one statement. Its key is read again some seconds after the last read, so
 * that a revoked key ends its session. The desired state costs the same for any number of machines: workers, pods and
 * attempts every 2 s each, images every 10 s.
 */
const MACHINE_COSTS: readonly [what: string, texts: RegExp, max: number][] = [
  ['leases', /^\s*UPDATE machine m SET lease_expires_at/, MACHINES * 0.55],
  ['keys', /^select "api_key"/, MACHINES * 0.25],
  [
    'what machines should have',
    new RegExp(
      `^\\s*SELECT (${[
        'w\\.id, w\\.endpoint_id AS "endpointId", w\\.machine_id AS "machineId", CASE WHEN w\\.desired',
        'w\\.id, w\\.machine_id AS "machineId", CASE WHEN waits',
        'm\\.id, m\\.name, m\\.locations',
        '\\* FROM \\(SELECT e\\.id',
        'machine_id AS "machineId", image_name',
        'm\\.id, j\\.endpoint_id, j\\.id AS job_id',
      ].join('|')})`,
    ),
    2,
  ],
];
const LOOK = /^\s*WITH RECURSIVE queue/;
/** Rests as long as it took, many times over: how often it comes says how busy the machine is. */
const RESTS = /^\s*SELECT j\.endpoint_id, j\.id, j\.attempt, j\.machine_id, j\.machine_id AS name/;
/**
 * Passes more or fewer of one loop in a span, where its ends and the pauses of loops, which vary, decide; of each
 * core's own there are three loops.
 */
const CHANCE = 6;
/** The same of all loops together, of some 110 statements. */
const CHANCE_OF_ALL = 20;

interface Sent {
  /** Statements a second of core's clock, without those of machines. */
  total: number;
  /** The same of each cost of machines. */
  machines: number[];
  counts: Map<string, number>;
  looks: number;
  /** Number of all statements except the one that rests. */
  steady: number;
  each: string[];
}

/** Returns the statements sent over a span in which core gets no requests. */
async function sentOver(t: Test, proxy: CountingProxy, spanMs = SPAN_MS): Promise<Sent> {
  const pass = (ms: number, since = fast.monotonicMs()) =>
    waitFor('the span to pass', () => fast.monotonicMs() - since >= ms);
  await pass(START_MS);
  const sinceMs = fast.monotonicMs();
  proxy.take();
  await pass(spanMs);
  const seconds = (fast.monotonicMs() - sinceMs) / 1_000;
  const counts = proxy.take();
  const of = (wanted: (text: string) => boolean): number =>
    [...counts].reduce((sum, [text, count]) => sum + (wanted(text) ? count : 0), 0);
  const looks = of((text) => LOOK.test(text));
  t.ok(looks > 0 && looks <= seconds * 1.05 + 1, `${looks} looks at all endpoints in ${Math.round(seconds)} s`);
  const each = [...counts].sort((a, b) => b[1] - a[1]).map(([text, count]) => `${count} ${text.slice(0, 100)}`);
  const machines = MACHINE_COSTS.map(([, texts]) => of((text) => texts.test(text)) / seconds);
  for (const text of counts.keys()) if (MACHINE_COSTS.some(([, texts]) => texts.test(text))) counts.delete(text);
  return { total: of(() => true) / seconds, machines, counts, looks, steady: of((text) => !RESTS.test(text)), each };
}

t.test('statements a second', async (t) => {
  const { url } = await createDatabase(t);
  const proxy = await countingProxy(t, url);
  const core = await startReplicas(t, 1, {}, { url: proxy.url, clock: fast });
  const templateId = await core.createTemplate();
  await core.sql`
    INSERT INTO endpoint (id, account_id, name, template_id, workers_min, workers_max)
    SELECT 'sleeping' || n, ${core.accountId}, 'test', ${templateId}, 0, 3 FROM generate_series(1, ${SLEEPING}) n`;
  for (let n = 0; n < MACHINES; n += 1) await core.joinAgent({ cpuSlots: 0, heartbeatMs: HEARTBEAT_PERIOD_MS / SPEED });
  const one = await sentOver(t, proxy);
  for (const [n, [what, , max]] of MACHINE_COSTS.entries()) {
    const cost = one.machines[n]!;
    t.ok(cost > 0 && cost <= max, `${what} of ${MACHINES} machines: ${cost.toFixed(1)} of ${max} a second`);
    t.comment(`${what} of ${MACHINES} machines: ${cost.toFixed(1)} a second`);
  }
  t.ok(
    one.total > 1 && one.total <= ONE_MAX,
    `${SLEEPING} sleeping endpoints and ${MACHINES} machines: ${ONE_MAX} a second in all:\n${one.each.join('\n')}`,
  );

  const sinceMs = fast.monotonicMs();
  await waitFor('the loops to rest', () => fast.monotonicMs() - sinceMs >= QUIET_AFTER_MS);
  const resting = await sentOver(t, proxy, RESTING_SPAN_MS);
  t.ok(
    resting.total > 0 && resting.total <= RESTING_MAX,
    `the same once nothing has happened for a while: ${RESTING_MAX} a second in all:\n${resting.each.join('\n')}`,
  );

  proxy.take();
  const changedMs = fast.monotonicMs();
  await call(core.clients.access, 'setQuota', { accountId: core.accountId, quota: {} }, core.rootKey);
  await waitFor('the loops to work', () => fast.monotonicMs() - changedMs >= SPAN_MS);
  const looks = [...proxy.take()].reduce((sum, [text, count]) => sum + (LOOK.test(text) ? count : 0), 0);
  t.ok(looks > SPAN_MS / REST_MS + 2, `a changed quota, which has no event, ends the rest: ${looks} looks`);

  await Promise.all([core.startReplica(), core.startReplica()]);
  const three = await sentOver(t, proxy);
  const busier = Math.max(1, three.looks / one.looks);
  t.ok(
    three.steady <= one.steady * busier * THREE_TIMES_MAX + CHANCE_OF_ALL,
    `with three of core hardly more:\n${three.each.join('\n')}`,
  );
  for (const text of new Set([...one.counts.keys(), ...three.counts.keys()])) {
    if (RESTS.test(text)) continue;
    const [before, after] = [one.counts.get(text) ?? 0, three.counts.get(text) ?? 0];
    const most = OWN.test(text)
      ? before * 3 * THREE_TIMES_MAX * busier + 3 * CHANCE
      : before * THREE_TIMES_MAX * busier + CHANCE;
    t.ok(after <= most, `${before}, and ${after} of three: ${text.slice(0, 100)}`);
  }

  // Core counts a machine as silent by its fast clock.
  await core.joinAgent({ cpuSlots: ACTIVE, heartbeatMs: HEARTBEAT_PERIOD_MS / SPEED });
  await Promise.all(Array.from({ length: ACTIVE }, () => core.createEndpoint({ templateId })));
  await waitFor(
    'their workers',
    async () => (await core.sql`SELECT FROM worker WHERE state = 'READY'`).length === ACTIVE,
  );
  const active = await sentOver(t, proxy, SPAN_MS / 2);
  t.ok(
    (active.total - three.total) / ACTIVE <= 0.3,
    `a part of a statement for each active endpoint:\n${active.each.join('\n')}`,
  );
  t.comment(`one core ${one.total.toFixed(1)}, resting ${resting.total.toFixed(1)}, three ${three.total.toFixed(1)}`);
  t.comment(`with ${ACTIVE} active endpoints and a machine ${active.total.toFixed(1)}`);
});
