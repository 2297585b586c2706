/** A real Prometheus reads a working system as deploy/prometheus has it, and every query of the rules and of the dashboard is answered. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../helpers/edge.ts';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { quietPort } from '../helpers/ports.ts';
import { whyNoPromtool } from '../helpers/promtool.ts';
import { startSystem } from '../helpers/system.ts';
import { waitFor } from '../helpers/wait-for.ts';

const deploy = join(import.meta.dirname, '../../deploy');
/** Nothing of these happens where all is well, or only once, which makes no rate. */
const EMPTY = new Set([
  'What limits the scaler', 'Refused for their rate', 'gRPC calls that failed', 'Webhook tries', 'Image pulls a second', 'Cold starts a second',
  'Cold start, 95 of 100',
]);
const LISTEN = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' };

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

interface QueryAnswer {
  status: string;
  error?: string;
  data: { result: { value: [number, string] }[] };
}

t.test('the dashboard', { skip: whyNoPromtool() || skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t, { coreEnv: LISTEN, facadeEnv: LISTEN, agentEnv: { ...LISTEN, SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576' } });
  const { core, facade, agents } = system.metrics;
  const certificates = await makeCertificates(t);
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host, SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_EDGE_METRICS_LISTEN: '127.0.0.1:0',
    ...certificates.env,
  });
  const folder = await openFolder(t);
  const config = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8').replace('127.0.0.1:9464', core).replace('127.0.0.1:9465', facade)
    .replace('127.0.0.1:9466', agents[0]!).replace('targets: []', `targets: ['${edge.addresses['metrics']!}']`)
    .replace('- rules.yml', `- ${join(deploy, 'prometheus/rules.yml')}`).replaceAll('15s', '1s');
  writeFileSync(join(folder, 'prometheus.yml'), config);
  const listen = `127.0.0.1:${await quietPort()}`;
  const prometheus = spawn('prometheus', [
    `--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${listen}`,
  ], { stdio: 'ignore' });
  t.teardown(async () => {
    prometheus.kill();
    if (prometheus.exitCode === null && prometheus.signalCode === null) await once(prometheus, 'exit');
  });
  const ask = async (expr: string): Promise<QueryAnswer> => {
    const answer = await fetch(`http://${listen}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return await answer.json() as QueryAnswer;
  };
  const count = async (expr: string): Promise<number> => (await ask(expr).catch(() => undefined))?.data?.result.length ?? 0;

  const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
  await waitFor('Prometheus to read all four', async () => await count('up == 1') === 4);
  const behind = `https://localhost:${edge.addresses['public']!.split(':')[1]}/v2/${jobs.id}/health`;
  const request = get(behind, { ca: certificates.read('ca.pem'), headers: { authorization: `Bearer ${system.key}` } });
  const [answer] = await once(request, 'response') as [IncomingMessage];
  t.equal(answer.resume().statusCode, 200, 'a request through the edge');
  // A counter that is seen for the first time has no rate yet.
  await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }));
  await waitFor('the first job to be read', async () => await count('slipway_core_outcomes_total') > 0);
  await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }));
  await waitFor('times of jobs to be recorded', async () => await count('endpoint:slipway_job_execution_seconds:p95_5m >= 0') > 0);
  await waitFor('errors to be recorded', async () => await count('slipway:facade_errors:ratio5m or sum(slipway_facade_http_requests_total)') > 0);

  // The rate of a counter shows once it was read twice: which of them was first seen in which reading is chance.
  for (const { title, targets } of (JSON.parse(readFileSync(join(deploy, 'grafana/slipway.json'), 'utf8')) as Dashboard).panels) {
    for (const { expr } of targets) {
      const { status, error } = await ask(expr);
      t.equal(status, 'success', `${title}: ${error ?? ''}`);
      if (EMPTY.has(title)) continue;
      await waitFor(`${title}: ${expr} to be answered`, async () => await count(expr) > 0);
      t.pass(`${title}: ${expr} is not empty`);
    }
  }
  t.equal(await count('ALERTS{alertstate="firing"}'), 0, 'nothing is wrong');
  const rules = await (await fetch(`http://${listen}/api/v1/rules`)).json() as { data: { groups: { rules: { name: string; health: string }[] }[] } };
  for (const { name, health } of rules.data.groups.flatMap((group) => group.rules)) t.equal(health, 'ok', name);
});
