// test: postgres, 10 s
/** GET /times and `slipway times`: how long jobs waited and ran, of a job that ran just now and of recorded traffic. */

import { binOf } from '@slipway/core/domain/scaling/traffic';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

interface Percentiles {
  count: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}
interface Stretch {
  startedAt: string;
  delay: Percentiles;
  execution: Percentiles;
}
interface Times extends Stretch {
  stepMs: number;
  steps: Stretch[];
}

const system = await startSystem(t);
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
const { sql } = jobRows(t, system.database.url);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
const get = (query = '') => system.request('GET', `/v2/${jobs.id}/times${query}`);
const read = async (query = ''): Promise<Times> => (await get(query)).json as unknown as Times;
/** Records traffic of a replica: executions and waits of these lengths. */
const recorded = async (minutesAgo: number, executions: number[], waits: number[]): Promise<void> => {
  const counted = (lengths: number[]): number[] => {
    const bins = new Array<number>(Math.max(...lengths.map(binOf)) + 1).fill(0);
    for (const ms of lengths) bins[binOf(ms)]! += 1;
    return bins;
  };
  await sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
    VALUES (${jobs.id}, now() - ${minutesAgo}::int * interval '1 min', 10000, 0, ${executions.length}, 0,
      ${counted(executions)}, ${counted(waits)})`;
};
/** As near as a bin is. */
const near = (found: number, wanted: number): boolean => found > wanted / 1.42 && found < wanted * 1.42;

t.test('an endpoint without finished jobs has no times', async (t) => {
  const nothing = { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 };
  t.match(await read(), { startedAt: /^20.*Z$/, delay: nothing, execution: nothing, stepMs: 60_000, steps: [] });
  t.match(await cli.run('times', jobs.id), { code: 0, stdout: '', stderr: 'No job ended in this time.\n' });
});

t.test('a job counts once it has finished, and recorded traffic is summed as recorded', async (t) => {
  await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }));
  const own = await waitFor('it to count', async () => {
    const times = await read();
    return times.execution.count === 1 && times;
  });
  t.match(own, { delay: { count: 1 }, steps: [{ startedAt: /Z$/, delay: { count: 1 }, execution: { count: 1 } }] });

  const hundred = Array.from({ length: 100 }, (_, n) => (n + 1) * 1_000);
  await recorded(30, hundred, [40_000]);
  const { execution, delay, steps, ...whole } = await read();
  t.equal(execution.count, 101);
  t.ok(
    near(execution.p50Ms, 50_000) && near(execution.p95Ms, 95_000) && near(execution.p99Ms, 99_000),
    JSON.stringify(execution),
  );
  t.ok(delay.count === 2 && near(delay.p99Ms, 40_000), JSON.stringify(delay));
  t.same(
    steps.map((step) => step.execution.count),
    [100, 1],
    'the oldest first',
  );
  t.ok(whole.startedAt <= steps[0]!.startedAt);
  t.equal((await read('?since=10m')).execution.count, 1, 'no further back than one asks');
  t.match(await read('?since=12h'), { stepMs: 720_000, execution: { count: 101 } });
});

t.test('the command line shows the same times', async (t) => {
  const { startedAt: _, ...times } = await cli.json<Times>('times', jobs.id);
  const { startedAt: __, ...shown } = await read();
  t.same(times, shown);
  t.equal((await cli.json<Times>('times', jobs.id, '--since', '10m')).execution.count, 1);
  const { stdout } = await cli.run('times', jobs.id, '--since', '2h');
  const [head, first, last, all, ...more] = stdout.trim().split('\n');
  t.match(head, /^FROM +JOBS +WAITED P50 +P95 +P99 +RAN P50 +P95 +P99$/);
  t.match(first, /^20\S+T\S+ +100 +\d+\.\d s/);
  t.match(last, /^20\S+T\S+ +1 /);
  t.match(all, /^all +101 /);
  t.same(more, []);
  t.match(await cli.run('times', jobs.id, '--since', '13h'), { code: 2, stderr: /--since must be from 1m to 12h/ });
  t.match(await cli.run('times', jobs.id, '--since', 'long'), { code: 2, stderr: /a number with a unit/ });
});

t.test('invalid requests are rejected', async (t) => {
  for (const bad of ['59s', '13h', '1d', '10', '-1h', 'x', '1h&since=2h']) {
    t.match(
      await get(`?since=${bad}`),
      { status: 400, json: { code: 'invalid_request', error: /from 60s to 12h/ } },
      bad,
    );
  }
  t.equal((await get('?since=')).status, 200);
  t.equal((await system.request('POST', `/v2/${jobs.id}/times`, {})).status, 405);
  t.equal((await system.request('GET', '/v2/nosuchendpoint/times')).status, 404);
  const another = await system.createEndpoint({
    command: jsHandler('all.js'),
    fields: { workersMin: 0 },
    workersMax: 0,
  });
  const bound = await system.newKey(KeyScope.ALL, system.accountId, [another]);
  const asked = (id: string) =>
    fetch(`${system.url}/v2/${id}/times`, { headers: { authorization: `Bearer ${bound}` } });
  t.same([(await asked(jobs.id)).status, (await asked(another)).status], [401, 200]);
});
