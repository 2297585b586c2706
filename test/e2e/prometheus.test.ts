// test: alone, postgres, envoy, 30 s
/**
 * A real Prometheus reads a working system as deploy/prometheus has it, and endpoints with their owner's key as
 * docs/reference/metrics.md has it: every query of the rules and of the dashboards is answered.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { get as httpGet } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { Endpoint, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { dashboards } from '../helpers/console/dashboards.ts';
import { recordedH200, withDriver } from '../helpers/db/with-driver.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { webhookReceiver } from '../helpers/net/webhook-receiver.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { scratch } from '../helpers/scratch.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../helpers/system/edge.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { whyNoPromtool } from '../helpers/system/promtool.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const deploy = join(import.meta.dirname, '../../deploy');
/**
 * Metrics that are 0, and exported as 0, where all is well, nothing is slow and no image is pulled. All others must
 * have a value.
 */
const NOTHING = new Set([
  'Outcomes spooled on agents',
  'Attempts requeued from lost machines per second',
  'Image pulls per second',
  'Batcher queue in use (share)',
]);
const LISTEN = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' };
/** Requests are held and an answer stays unread for as long as the test evaluates the dashboards. */
const PATIENT = { SLIPWAY_LB_HOLD_MS: '240000', SLIPWAY_ANSWER_IDLE_MS: '240000' };
/** An output that no buffer between takes. */
const LENGTH = 18_000_000;

interface QueryAnswer {
  status: string;
  error?: string;
  data: { result: { value: [number, string] }[] };
}

/**
 * Returns the scrape configuration that docs/reference/metrics.md gives to owners of endpoints, for a facade without
 * TLS.
 */
function ownerScrape(id: string, facade: string): string {
  const [, job] = /```yaml\nscrape_configs:\n([\s\S]*?)```/.exec(
    readFileSync(join(deploy, '../docs/reference/metrics.md'), 'utf8'),
  )!;
  return job!
    .replace('my-endpoint', id)
    .replace('scheme: https', 'scheme: http')
    .replace('ENDPOINT_ID', id)
    .replace('slipway.example.org', facade);
}

t.setTimeout(600_000);

t.test('the dashboards', { timeout: 240_000, skip: whyNoPromtool() || skipWithoutEnvoy() }, async (t) => {
  const driver = withDriver(t, recordedH200());
  const system = await startSystem(t, {
    coreEnv: LISTEN,
    facadeEnv: { ...LISTEN, ...PATIENT },
    agentEnv: { ...driver.env, ...LISTEN, SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' },
  });
  const { core, facade, agents } = system.metrics;
  const certificates = await makeCertificates(t);
  // A certificate of two days would raise an alert.
  certificates.issue('live/server', 'DNS:localhost', { days: 30 });
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_EDGE_METRICS_LISTEN: '127.0.0.1:0',
    ...certificates.env,
  });
  const folder = await openFolder(t);
  const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
  // Its jobs wait for one worker, though two are desired.
  const held = endpointJobs(
    system,
    await system.createEndpoint({
      command: jsHandler('all.js'),
      workersMax: 1,
      fields: { scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1 },
    }),
  );
  writeFileSync(join(folder, 'slipway-key'), system.key);
  const own = [jobs, held].map(({ id }) => ownerScrape(id, new URL(system.url).host)).join('');
  const config = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8')
    .replace('127.0.0.1:9464', core)
    .replace('127.0.0.1:9465', facade)
    .replace('127.0.0.1:9466', agents[0]!)
    .replace('targets: []', `targets: ['${edge.addresses['metrics']!}']`)
    .replace('- rules.yml', `- ${join(deploy, 'prometheus/rules.yml')}`)
    .replaceAll('15s', '1s');
  writeFileSync(join(folder, 'prometheus.yml'), `${config}${own}`);
  const listen = `127.0.0.1:${await quietPort()}`;
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${listen}`,
    ],
    { stdio: 'ignore' },
  );
  t.teardown(async () => {
    prometheus.kill();
    if (prometheus.exitCode === null && prometheus.signalCode === null) await once(prometheus, 'exit');
  });
  const ask = async (expr: string): Promise<QueryAnswer> => {
    const answer = await fetch(`http://${listen}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return (await answer.json()) as QueryAnswer;
  };
  /** Returns the numeric values of a query's result. A ratio with the denominator 0 has none. */
  const numbers = async (expr: string): Promise<number[]> => {
    const answer = await ask(expr).catch(() => undefined);
    return (answer?.data?.result ?? []).map(({ value }) => Number(value[1])).filter((value) => Number.isFinite(value));
  };
  const count = async (expr: string): Promise<number> => (await numbers(expr)).length;

  const files = await scratch(t);
  const hooks = await webhookReceiver(t);
  // A running worker would raise its limits.
  const refused = await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 } });
  await waitFor('Prometheus to read all four, and both endpoints', async () => (await count('up == 1')) === 6);
  const headers = { authorization: `Bearer ${system.key}` };
  const throughEdge = (path: string): ClientRequest =>
    get(`https://localhost:${edge.addresses['public']!.split(':')[1]}${path}`, {
      ca: certificates.read('ca.pem'),
      headers,
    });
  /**
   * Opens requests that stay open until released: one waits for a worker, one waits through the edge for a job, one
   * does not read its answer.
   */
  const keepWaiting = async (): Promise<() => void> => {
    const { id } = await jobs.runSync({ mode: 'big', length: LENGTH });
    const options = { headers, agent: false };
    const open = [
      throughEdge(`/v2/${held.id}/status-sync/${await held.run({})}?wait=240000`),
      httpGet(`${system.url}/v2/${await lbEndpoint(system, { workersMax: 0 })}/x`, options),
      httpGet(`${system.url}/v2/${jobs.id}/status/${id}`, options),
    ];
    for (const each of open) each.on('error', () => undefined);
    const [answer] = (await once(open[2]!, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    return () => {
      for (const each of open) each.destroy();
    };
  };
  /** Produces everything that the dashboards show and that needs no failure. */
  const happen = async (): Promise<void> => {
    const [answer] = (await once(throughEdge(`/v2/${jobs.id}/health`), 'response')) as [IncomingMessage];
    t.equal(answer.resume().statusCode, 200, 'a request through the edge');
    await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }, { webhook: hooks.url('told') }));
    await jobs.settled(await jobs.run({ mode: 'odd', kind: 'error' }));
    await t.rejects(call(system.clients.endpoints, 'getEndpoint', { id: 'nosuch' }, system.key));
    for (let more = 0; more < 3; more += 1) await system.request('POST', `/v2/${refused}/purge-queue`);
    for (let more = 0; more < 2; more += 1) await held.run({ mode: 'until', file: files.path('done') });
  };
  await happen();
  // A counter that is seen for the first time has no rate yet.
  const first = [
    'slipway_core_outcomes_total > 0',
    'slipway_facade_rate_limit_rejections_total > 0',
    'slipway_core_rpc_calls_total{code="NOT_FOUND"}',
    'slipway_core_cold_starts_total',
  ];
  for (const expr of first) await waitFor(`${expr} to be read`, async () => (await count(expr)) > 0);
  await happen();
  // A worker of an endpoint that had one already.
  await system.endWorkers(jobs.id);
  const workersOf = { endpointId: jobs.id, pageSize: 9 };
  await waitFor(
    'its end',
    async () => (await call(system.clients.machines, 'listWorkers', workersOf, system.key)).workers.length === 0,
  );
  await call(
    system.clients.endpoints,
    'updateEndpoint',
    {
      endpoint: Endpoint.fromPartial({ id: jobs.id, workersMax: 1 }),
      updateMask: ['workers_max'],
    },
    system.key,
  );
  await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }));

  // A worker that crashed with its job.
  await jobs.settled(await jobs.run({ mode: 'exit', once: files.path('crashed') }), 60_000);
  const leave = await keepWaiting();

  for (const { panels, variables } of dashboards()) {
    const [, metric] = /^label_values\((\w+), endpoint\)$/.exec(
      variables.find(({ name }) => name === 'endpoint')!.definition!,
    )!;
    const endpoints = (await fetch(`http://${listen}/api/v1/label/endpoint/values?match[]=${metric}`).then((answer) =>
      answer.json(),
    )) as { data: string[] };
    t.ok(endpoints.data.includes(jobs.id) && endpoints.data.includes(held.id), 'the endpoints to choose from');
    for (const { title, expr } of panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ title, expr })),
    )) {
      const ofAll = expr.replaceAll('$endpoint', '.*');
      const { status, error } = await ask(ofAll);
      t.equal(status, 'success', `${title}: ${error ?? ''}`);
      const isThere = (value: number): boolean => value > 0 || NOTHING.has(title);
      const values = async (): Promise<number[] | false> => {
        const found = (await numbers(ofAll)).filter(isThere);
        return found.length > 0 && found;
      };
      const found = await waitFor(`${title}: ${ofAll}`, values).catch(() => []);
      t.ok(found.length > 0, `${title}: ${ofAll} is ${found.join(', ')}`);
      if (ofAll !== expr)
        t.same(
          (await ask(expr.replaceAll('$endpoint', 'another'))).data.result,
          [],
          `${title}: only of endpoints that were chosen`,
        );
    }
  }
  leave();
  files.open('done');
  t.ok((await numbers('envoy_server_days_until_first_cert_expiring'))[0]! > 27, 'the edge tells of its certificate');
  t.equal(await count('ALERTS{alertstate="firing"}'), 0, 'nothing is wrong');
  const rules = (await (await fetch(`http://${listen}/api/v1/rules`)).json()) as {
    data: { groups: { rules: { name: string; health: string }[] }[] };
  };
  for (const { name, health } of rules.data.groups.flatMap((group) => group.rules)) t.equal(health, 'ok', name);
});
