/**
 * Failover of PostgreSQL under load, by hand (docs/operate/failover.md): the primary is killed or stopped, with and
 * without its host, cut off, and switched over. Prints for how long no job was acknowledged, and checks that no
 * acknowledged job is lost or doubled.
 *
 *   node test/kill/patroni/failover-main.ts [ROUNDS] [PART OF A FAULT'S NAME…]
 *
 * SLIPWAY_TEST_PACE: jobs a second. failover.test.ts shows the first fault in the suite, on a machine of any load.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import type { Host } from '../../helpers/net/hosts.ts';
import { startHosts } from '../../helpers/net/hosts.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Processes } from '../../helpers/system/processes.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { Node } from './cluster.ts';
import { startCluster } from './cluster.ts';

const [rounds = '3', ...chosen] = process.argv.slice(2);
const PACE = Number(process.env['SLIPWAY_TEST_PACE'] ?? 500);
const OPEN_MAX = 400;
const TICK_MS = 10;
const MEND_MS_MAX = 120_000;

t.setTimeout(3_600_000);

/** Submits jobs at an even pace, each once. */
function startLoad({ request }: Processes, endpointId: string, input: object) {
  const acknowledged = new Map<string, number>();
  const times: number[] = [];
  const failures = new Map<string, number>();
  let isStopped = false;
  const submit = async (number: number): Promise<void> => {
    const key = { 'idempotency-key': `failover-${number}` };
    const answer = await request('POST', `/v2/${endpointId}/run`, { input: { ...input, number } }, key);
    if (answer.status === 200) {
      acknowledged.set(answer.json.id, number);
      times.push(Date.now());
      return;
    }
    const what = `${answer.status} ${answer.json.code}, Retry-After ${answer.headers.get('retry-after')}`;
    failures.set(what, (failures.get(what) ?? 0) + 1);
  };
  const loop = (async () => {
    const open = new Set<Promise<void>>();
    let number = 0;
    for (let lastMs = Date.now(), due = 0; !isStopped; await delay(TICK_MS)) {
      const nowMs = Date.now();
      due = Math.min(due + ((nowMs - lastMs) * PACE) / 1_000, PACE);
      lastMs = nowMs;
      for (; due >= 1 && open.size < OPEN_MAX; due -= 1) {
        const one: Promise<void> = submit((number += 1)).finally(() => open.delete(one));
        open.add(one);
      }
    }
    await Promise.all(open);
  })();
  return {
    acknowledged,
    times,
    failures,
    stop: async (): Promise<void> => {
      isStopped = true;
      await loop;
    },
  };
}

/** The faults: what happens to the primary, and what mends it once the other node is the primary. */
const FAULTS: readonly (readonly [name: string, cause: Change, mend: Change])[] = [
  ['partition', (_node, _other, host) => host.pull(), (_node, _other, host) => host.plug()],
  ['kill -9 of PostgreSQL', (node) => node.signalDatabase('SIGKILL'), () => undefined],
  ['switchover', (node, other) => node.switchOver(other), () => undefined],
  ['SIGSTOP of PostgreSQL', (node) => node.signalDatabase('SIGSTOP'), (node) => node.signalAll('SIGCONT')],
  ['kill -9 of the host', (node) => node.signalAll('SIGKILL'), (node) => node.start()],
  ['SIGSTOP of the host', (node) => node.signalAll('SIGSTOP'), (node) => node.signalAll('SIGCONT')],
];

function isChosen([name]: readonly [string, ...unknown[]]): boolean {
  return chosen.length === 0 || chosen.some((part) => name.includes(part));
}

type Change = (node: Node, other: Node, host: Host) => Promise<void> | void;

async function checkJobs(t: Test, sql: postgres.Sql, endpointId: string, acknowledged: ReadonlyMap<string, number>) {
  await waitFor(
    'all jobs to end',
    async () => {
      const [row] = await sql<{ n: number }[]>`
        SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${endpointId} AND finished_at IS NULL`;
      return row!.n === 0;
    },
    MEND_MS_MAX,
  );
  const stored = await sql<{ id: string; state: string; output: Buffer | null }[]>`
    SELECT id, state, output FROM job
    LEFT JOIN job_output ON job_output.endpoint_id = job.endpoint_id AND job_id = id
    WHERE job.endpoint_id = ${endpointId}`;
  const numbers = new Map(
    stored.map(({ id, state, output }) => {
      const { number } = JSON.parse(String(output ?? '{}')) as { number?: number };
      return [id, state === 'COMPLETED' ? number : undefined];
    }),
  );
  const lost = [...acknowledged].filter(([id, number]) => numbers.get(id) !== number);
  t.same(lost, [], 'no acknowledged job is lost');
  t.equal(new Set(numbers.values()).size, stored.length, 'none is doubled');
}

t.test('failover', async (t) => {
  const hosts = await startHosts(t, ['etcd', 'db-1', 'db-2']);
  const { nodes, primary, isWhole, url } = await startCluster(t, { places: hosts, silentSeconds: 3 });
  const admin = postgres(url('postgres'), { max: 1 });
  await admin`CREATE DATABASE slipway`;
  await admin.end();
  const system = await startProcesses(t, {
    databaseUrl: async () => url('slipway'),
    env: { SLIPWAY_RATE_LIMITS: 'false' },
  });
  const sql = postgres(url('slipway'), { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  const [gate, notes] = [join(system.folder, 'gate'), join(system.folder, 'notes')];
  writeFileSync(gate, '');
  const endpointId = await system.createEndpoint({ command: jsHandler('in-flight.js'), workersMax: 3, retryLimit: 5 });
  const load = startLoad(system, endpointId, { gate, notes, ms: 0 });
  const startedMs = Date.now();
  await waitFor('load', () => load.times.length > PACE);

  const pauses = new Map<string, string[]>();
  for (let round = 0; round < Number(rounds); round += 1)
    for (const [name, cause, mend] of FAULTS.filter(isChosen)) {
      const node = await waitFor('the primary', primary);
      const other = nodes.find((each) => each !== node)!;
      const host = hosts.find(({ name }) => name === node.name)!;
      const before = load.times.length;
      const fromMs = Date.now();
      await cause(node, other, host);
      await waitFor('the other one to be the primary', async () => (await other.role()) === 'primary', MEND_MS_MAX);
      const promotedMs = Date.now() - fromMs;
      const at = load.times.length;
      await waitFor('jobs to be acknowledged', () => load.times.length > at + PACE / 2, MEND_MS_MAX);
      const times = load.times.slice(Math.max(before - 1, 0));
      const pauseMs = Math.max(...times.slice(1).map((time, index) => time - times[index]!));
      t.comment(`${name}: another primary after ${promotedMs} ms, nothing acknowledged for ${pauseMs} ms`);
      pauses.set(name, [...(pauses.get(name) ?? []), (pauseMs / 1_000).toFixed(1)]);
      await mend(node, other, host);
      await waitFor('a synchronous standby again', isWhole, MEND_MS_MAX);
    }
  await load.stop();
  const { acknowledged, failures } = load;
  t.comment(`${acknowledged.size} jobs acknowledged in ${((Date.now() - startedMs) / 1_000).toFixed(0)} s`);
  for (const [what, count] of failures) t.comment(`${count} x ${what}`);
  for (const [name, all] of pauses) t.comment(`${name}: ${all.join(', ')} s`);
  await checkJobs(t, sql, endpointId, acknowledged);
});
