// test: postgres
/**
 * An endpoint's own metrics, read with an API key as Prometheus does, and held against the table of
 * docs/reference/metrics.md.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { parseMetrics, valueOf } from '../helpers/system/metrics.ts';
import { whyNoPromtool } from '../helpers/system/promtool.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const system = await startSystem(t);
const endpoint = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
const another = await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 }, workersMax: 0 });
const newBalancing = () =>
  system.createEndpoint({
    command: jsHandler('all.js'),
    fields: { type: EndpointType.LB, workersMin: 0 },
    workersMax: 0,
  });
const read = (path: string, key = system.key) =>
  fetch(`${system.url}${path}`, { headers: { authorization: `Bearer ${key}` } });

await endpoint.settled(await endpoint.run({ mode: 'odd', kind: 'date' }));
await endpoint.settled(await endpoint.run({ mode: 'odd', kind: 'error' }));
// Core serves the same counts again for a moment.
await waitFor(
  'both to be counted',
  async () => (await endpoint.health()).jobs.completed + (await endpoint.health()).jobs.failed === 2,
);

t.test('metrics have the documented names and the counted values', async (t) => {
  const answer = await read(`/v2/${endpoint.id}/metrics`);
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  const metrics = parseMetrics(text);
  t.equal(valueOf(metrics, 'slipway_endpoint_outcomes_total', { endpoint: endpoint.id, state: 'COMPLETED' }), 1);
  t.equal(valueOf(metrics, 'slipway_endpoint_outcomes_total', { endpoint: endpoint.id, state: 'FAILED' }), 1);
  t.equal(valueOf(metrics, 'slipway_endpoint_workers_desired'), 1);
  const named = await system.request('GET', `/v1/endpoints/${endpoint.id}`);
  t.equal(valueOf(metrics, 'slipway_endpoint_info', { endpoint: endpoint.id, name: named.json['name'] as string }), 1);
  const table = readFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8')
    .split('## An endpoint\n')[1]!
    .split('\n## ')[0]!;
  const documented = [...table.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)].map((row) => row.slice(1));
  const balancing = await newBalancing();
  const ofBalancing = parseMetrics(await (await read(`/v1/endpoints/${balancing}/metrics`)).text());
  t.notOk(ofBalancing.has('slipway_endpoint_outcomes_total'), 'no job is counted where there are none');
  t.same(ofBalancing.get('slipway_endpoint_requests_total')?.samples, [], 'nothing was counted yet, not 0');
  t.same(
    [...new Map([...ofBalancing, ...metrics]).values()].map(({ name, type, help }) => [name, type, help]).sort(),
    documented.map(([name, type, , help]) => [name, type, help]).sort(),
  );
  for (const { samples } of metrics.values())
    for (const { labels } of samples) t.equal(labels['endpoint'], endpoint.id);
  if (!whyNoPromtool()) t.equal(execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' }), '');
});

t.test('REST has the same metrics, also of load-balancing endpoints', async (t) => {
  const balancing = await newBalancing();
  for (const id of [endpoint.id, balancing]) {
    const answer = await read(`/v1/endpoints/${id}/metrics`);
    t.equal(answer.status, 200);
    t.ok(parseMetrics(await answer.text()).has('slipway_endpoint_workers'));
  }
});

t.test('other accounts read none of them', async (t) => {
  const { key } = system;
  const bound = await system.newKey(undefined, system.accountId, [another]);
  t.equal((await read(`/v2/${endpoint.id}/metrics`, bound)).status, 401);
  t.equal((await read(`/v2/${another}/metrics`, bound)).status, 200);
  t.equal((await read(`/v1/endpoints/${endpoint.id}/metrics`, bound)).status, 401);
  t.equal((await read('/v2/nothing/metrics', key)).status, 404);
  t.equal((await read('/v1/endpoints/nothing/metrics', key)).status, 404);
  t.equal((await system.request('POST', `/v2/${endpoint.id}/metrics`, {})).status, 405);
});
