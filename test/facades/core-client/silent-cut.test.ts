// test: postgres, 20 s
/**
 * Connections of a facade to core that are cut silently, as by a host without power or a firewall that dropped them.
 * Neither side gets an error, and new connections can be made. Requests made in this state are answered all the same.
 */
import t from 'tap';
import { Links } from '../../helpers/net/links.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const links = await Links.start(t);
const system = await startSystem(t, { transportOf: (part) => links.of(part) });
const { url, key } = system;
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));
const headers = { authorization: `Bearer ${key}` };
const statusOf = async (path: string): Promise<number> => (await fetch(url + path, { headers })).status;
const cut = (): void => {
  for (const link of links.all.filter(({ from, isOpen }) => from === 'facade' && isOpen)) link.hold();
};

const files = await scratch(t);

await t.test('every connection is open and used', async (t) => {
  t.match(await jobs.runSync({ mode: 'echo' }), { status: 'COMPLETED' });
  t.same([await statusOf('/v1/endpoints'), await statusOf('/readyz')], [200, 200]);
  t.equal(await statusOf(`/v2/${await lbEndpoint(system, { workersMin: 1 })}/x`), 200);
});

await t.test('jobs, reads and requests that need a worker', async (t) => {
  const cold = await lbEndpoint(system);
  cut();
  const [ran, listed, served, counted] = await Promise.all([
    jobs.runSync({ mode: 'echo', n: 1 }),
    statusOf('/v1/endpoints'),
    statusOf(`/v2/${cold}/x`),
    statusOf(`${jobs.base}/health`),
  ]);
  t.match(ran, { status: 'COMPLETED', output: { n: 1 } });
  t.same([listed, served, counted], [200, 200, 200]);
});

await t.test('a call held by core continues on another connection', async (t) => {
  const waiting = jobs.runSync({ mode: 'until', file: files.path('gate') });
  await waitFor('it to be begun', async () => (await jobs.health()).jobs.inProgress === 1);
  const before = links.open('facade', 'JobService');
  cut();
  await waitFor('other connections', () => links.open('facade', 'JobService').some((link) => !before.includes(link)));
  files.open('gate');
  t.match(await waiting, { status: 'COMPLETED' });
});

await t.test('readiness is known again', async () => {
  cut();
  await waitFor('the answer', async () => (await statusOf('/readyz')) === 200);
});
