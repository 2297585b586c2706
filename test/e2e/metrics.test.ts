// test: alone, postgres, 20 s
/**
 * Prometheus metrics of core, facade and agent after some jobs, compared with the tables of docs/reference/metrics.md.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { recordedH200, withDriver } from '../helpers/db/with-driver.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { whyNoPromtool } from '../helpers/system/promtool.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const MIB = 1024 * 1024;
const LISTEN = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' };
const page = readFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8');
const driver = withDriver(t, recordedH200());
const system = await startSystem(t, {
  coreEnv: { ...LISTEN, SLIPWAY_METRICS_ENDPOINTS_MAX: '1' },
  facadeEnv: LISTEN,
  agentEnv: { ...driver.env, ...LISTEN, SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' },
});
const endpointId = await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 });
const jobs = endpointJobs(system, endpointId);
const addresses = { core: system.metrics.core, facade: system.metrics.facade, agent: system.metrics.agents[0]! };

/** Rows of the table under a heading. */
function documented(heading: string): { name: string; type: string; labels: string[]; help: string }[] {
  const table = page.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return [...table.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)].map(([, name, type, labels, help]) => ({
    name: name!,
    type: type!,
    labels: labels!
      .split(', ')
      .filter((label) => label !== '')
      .sort(),
    help: help!,
  }));
}

await jobs.settled(await jobs.run({ mode: 'odd', kind: 'date' }));
await jobs.settled(
  await jobs.run({ mode: 'odd', kind: 'error' }, { webhook: `http://127.0.0.1:${await quietPort()}/` }),
);
await waitFor(
  'the webhook to be tried',
  async () => valueOf(await readMetrics(addresses.core), 'slipway_core_webhook_attempts_total') > 0,
);
await waitFor(
  'a lease to be extended',
  async () =>
    valueOf(await readMetrics(addresses.core), 'slipway_core_batch_items_count', { batcher: 'lease extensions' }) > 0,
);

t.test('every metric is documented, and no other', async (t) => {
  const ofNode = documented('Every process');
  for (const [process, address] of Object.entries(addresses)) {
    const served = await readMetrics(address);
    const rows = [...documented(process), ...ofNode];
    t.same([...served.keys()].sort(), rows.map(({ name }) => name).sort(), process);
    for (const { name, type, labels, help } of rows) {
      const metric = served.get(name);
      if (!metric) continue;
      t.equal(metric.type, type, `${name}: type`);
      t.equal(metric.help, help, `${name}: meaning`);
      if (metric.labels.size > 0) t.same([...metric.labels].sort(), labels, `${name}: labels`);
      if (name.startsWith('slipway_'))
        t.equal(name.endsWith('_total'), type === 'counter', `${name}: only counters end with _total`);
    }
  }
});

t.test('promtool accepts the metrics', { skip: whyNoPromtool() }, async (t) => {
  for (const [process, address] of Object.entries(addresses)) {
    const text = await (await fetch(`http://${address}/metrics`)).text();
    // Metrics of Node itself have names that Slipway did not choose.
    const own = text
      .split('\n')
      .filter((line) => /^(# \w+ )?slipway_/.test(line))
      .join('\n');
    t.equal(execFileSync('promtool', ['check', 'metrics'], { input: `${own}\n`, encoding: 'utf8' }), '', process);
  }
});

t.test('the metrics count what happened', async (t) => {
  const core = await readMetrics(addresses.core);
  t.equal(valueOf(core, 'slipway_core_jobs_submitted_total', { endpoint: endpointId }), 2);
  t.equal(valueOf(core, 'slipway_core_outcomes_total', { endpoint: endpointId, state: 'COMPLETED' }), 1);
  t.equal(valueOf(core, 'slipway_core_outcomes_total', { endpoint: endpointId, state: 'FAILED' }), 1);
  t.equal(valueOf(core, 'slipway_core_job_execution_seconds_count', { endpoint: endpointId }), 2);
  t.equal(valueOf(core, 'slipway_core_cold_starts_total', { endpoint: endpointId, cause: 'from_zero' }), 1);
  t.equal(valueOf(core, 'slipway_core_cold_start_seconds_count', { cause: 'from_zero' }), 1);
  for (const pool of ['general', 'engine', 'urgent']) {
    t.ok(valueOf(core, 'slipway_core_database_probe_seconds', { pool }) > 0, `${pool} answers`);
    t.ok(valueOf(core, 'slipway_core_database_pool_wait_seconds_count', { pool }) > 0, `waits of ${pool}`);
  }
  t.equal(valueOf(core, 'slipway_core_sessions'), 1);
  t.equal(
    valueOf(core, 'slipway_core_gpus', { state: 'free' }) + valueOf(core, 'slipway_core_gpus', { state: 'used' }),
    3,
  );
  t.equal(valueOf(core, 'slipway_core_machines', { state: 'connected' }), 1);
  t.ok(valueOf(core, 'slipway_core_scale_actions_total', { action: 'add' }) >= 1);
  t.ok(valueOf(core, 'slipway_core_batch_items_count', { batcher: 'outcomes' }) >= 1);
  t.ok(valueOf(core, 'slipway_core_batch_items_count', { batcher: 'lease extensions' }) >= 1);
  t.equal(valueOf(core, 'slipway_core_webhook_attempts_total', { result: 'failed' }), 1, 'connection refused');
  for (const budget of ['submissions', 'outcomes', 'incoming outcomes', 'chunks', 'checks', 'pages']) {
    t.ok(valueOf(core, 'slipway_core_memory_limit_bytes', { budget }) >= 64 * MIB, `the bound of ${budget}`);
  }
  for (const batcher of ['submissions', 'outcomes', 'usage'])
    t.ok(valueOf(core, 'slipway_core_batcher_limit', { batcher }) >= 200, `the bound of ${batcher}`);
  t.ok(
    valueOf(core, 'slipway_core_rpc_calls_total', {
      method: 'slipway.v1.EndpointService/CreateEndpoint',
      code: 'OK',
    }) >= 1,
  );
  t.ok(valueOf(await readMetrics(addresses.facade), 'slipway_facade_http_requests_total', { code: '200' }) >= 2);
  const agent = await readMetrics(addresses.agent);
  t.equal(valueOf(agent, 'slipway_agent_attempts_ended_total', { kind: 'COMPLETED' }), 1);
  t.equal(valueOf(agent, 'slipway_agent_connected'), 1);
  for (const budget of ['bodies', 'inputs', 'chunks'])
    t.equal(valueOf(agent, 'slipway_agent_memory_limit_bytes', { budget }), 64 * MIB, budget);
  t.ok(valueOf(agent, 'slipway_agent_workload_starts_total', { result: 'started' }) >= 1);
  t.ok(valueOf(agent, 'slipway_agent_bridge_http_requests_total') >= 1);
});

t.test('endpoints beyond the limit share one label', async (t) => {
  const another = await system.createEndpoint({
    command: jsHandler('all.js'),
    fields: { workersMin: 0 },
    workersMax: 0,
  });
  const waiting = endpointJobs(system, another);
  await waiting.run({ mode: 'odd', kind: 'date' });
  await waiting.run({ mode: 'odd', kind: 'date' });
  const core = await (async () => {
    for (;;) {
      const now = await readMetrics(addresses.core);
      if (valueOf(now, 'slipway_core_jobs', { endpoint: 'other', state: 'IN_QUEUE' }) === 2) return now;
    }
  })();
  t.equal(valueOf(core, 'slipway_core_jobs_submitted_total', { endpoint: 'other' }), 2);
  t.ok(valueOf(core, 'slipway_core_queue_oldest_wait_seconds', { endpoint: 'other' }) > 0);
  const { endpoint } = await call(system.clients.endpoints, 'getEndpoint', { id: endpointId }, system.key);
  for (const labels of [
    { endpoint: endpointId, name: endpoint!.name },
    { endpoint: 'other', name: 'other' },
  ])
    t.equal(valueOf(core, 'slipway_core_endpoint_info', labels), 1, 'its name for a join');
  for (const { samples } of core.values()) {
    for (const { labels } of samples)
      if (labels['endpoint'] !== undefined)
        t.ok(['other', endpointId].includes(labels['endpoint']), labels['endpoint']);
  }
});

t.test('the label of a deleted endpoint becomes free for another', async (t) => {
  const { endpoints } = await call(system.clients.endpoints, 'listEndpoints', {}, system.key);
  const waiting = endpoints.find(({ id }) => id !== endpointId);
  t.equal(valueOf(await readMetrics(addresses.core), 'slipway_core_jobs', { endpoint: waiting!.id }), 0);
  await system.endWorkers(endpointId);
  await call(system.clients.endpoints, 'deleteEndpoint', { id: endpointId }, system.key);
  await waitFor(
    'its place',
    async () =>
      valueOf(await readMetrics(addresses.core), 'slipway_core_jobs', { endpoint: waiting!.id, state: 'IN_QUEUE' }) ===
      2,
  );
  // The reading that found it gone had begun to tell what was counted of it.
  const core = await readMetrics(addresses.core);
  for (const { name, samples } of core.values()) {
    t.notOk(
      samples.some(({ labels }) => labels['endpoint'] === endpointId),
      `${name} has nothing of what was deleted`,
    );
  }
});

t.test('the metrics port serves nothing else', async (t) => {
  t.equal((await fetch(`http://${addresses.core}/`)).status, 404);
  const answer = await fetch(`http://${addresses.core}/metrics`, { method: 'POST' });
  t.equal(answer.status, 405);
  t.equal(answer.headers.get('allow'), 'GET');
});
