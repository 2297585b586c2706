// test: postgres, 20 s
/**
 * Workers that serve HTTP: their ports, their health on the way to core, their end. Real core, real agent, real Node
 * and Python servers.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { startRealAgent } from '../../../helpers/system/real-agent.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const core = await startReplicas(t);
await startRealAgent(t, core, { SLIPWAY_HTTP_SILENCE_MS: '1500' });
const folder = await mkdtemp(join(tmpdir(), 'slipway-http-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));

/** Its health is what the file beside it says: a status, or nothing for a server that is not there. */
const SERVER = `
import { createServer } from 'node:http';
import { readFileSync, existsSync } from 'node:fs';
const status = () => (existsSync(process.argv[2]) ? Number(readFileSync(process.argv[2], 'utf8')) : 200);
createServer((request, reply) => {
  if (request.url === process.env.HEALTH_CHECK_PATH) { reply.statusCode = status(); return reply.end(); }
  reply.end(JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => /PORT|HEALTH|RUNPOD/.test(name)))));
}).listen(Number(process.env.PORT), '127.0.0.1');
`;

async function lbEndpoint(startCommand: string[], fields: object = {}): Promise<string> {
  const templateId = await core.createTemplate({ startCommand, ports: ['8000/http'] });
  return core.createEndpoint({
    templateId,
    type: EndpointType.LB,
    workersMin: 1,
    workersMax: 2,
    idleTimeoutSeconds: 1,
    ...fields,
  });
}

const workers = (endpointId: string) => core.sql<
  { id: string; state: string; health: string; address: string; reason: string }[]
>`
  SELECT id, state, health, address, reason FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL
    ORDER BY created_at`;

t.test('two workers of one host have different ports; 200, 204, errors and silence are distinguished', async (t) => {
  const server = join(folder, 'server.mjs');
  const said = join(folder, 'health');
  await writeFile(server, SERVER);
  await writeFile(said, '204');
  const endpointId = await lbEndpoint([process.execPath, server, said], {
    workersMin: 2,
    env: { HEALTH_CHECK_PATH: '/well' },
  });
  await waitFor(
    'two that initialize',
    async () => (await workers(endpointId)).filter(({ health }) => health === 'INITIALIZING').length === 2,
  );
  t.match(
    (await workers(endpointId)).map(({ state }) => state),
    ['INITIALIZING', 'INITIALIZING'],
  );
  for (const [status, health] of [
    ['200', 'READY'],
    ['500', 'UNHEALTHY'],
    ['200', 'READY'],
    ['204', 'INITIALIZING'],
    ['200', 'READY'],
  ] as const) {
    await writeFile(said, status);
    await waitFor(`${health} after ${status}`, async () =>
      (await workers(endpointId)).every((worker) => worker.health === health),
    );
  }
  const [one, other] = await workers(endpointId);
  t.not(one!.address, other!.address);
  const shown = (await (await fetch(`http://${one!.address}/`)).json()) as Record<string, string>;
  t.match(shown, {
    PORT: one!.address.split(':')[1],
    PORT_HEALTH: one!.address.split(':')[1],
    HEALTH_CHECK_PATH: '/well',
    RUNPOD_POD_ID: one!.id,
  });
  t.same(
    Object.keys(shown).filter((name) => /WEBHOOK|API_KEY/.test(name)),
    [],
    'it learns nothing of the job protocol',
  );
  t.match(await call(core.clients.jobs, 'getHealth', { endpointId }, core.key), {
    workers: { running: 2, ready: 2, idle: 2, initializing: 0 },
  });
  await core.updateEndpoint(endpointId, { workersMin: 0 });
  await waitFor(
    'their end, when they are idle and nobody is with them',
    async () => (await workers(endpointId)).length === 0,
  );
});

t.test('a worker without a listener ends with a reason and a remedy', async (t) => {
  const endpointId = await lbEndpoint(['sleep', '1000']);
  const ended = await waitFor('its end', async () =>
    (await workers(endpointId)).find(({ state }) => state === 'UNHEALTHY'),
  );
  t.match(ended.reason, /Nothing listens there/);
  t.match(
    ended.reason,
    /^GET \/ping on port \d+ has answered neither 200 nor 204 for 2 s\. .*must listen on the port that the variable PORT says/,
  );
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
});

t.test('a worker that exits leaves the backends at once', async (t) => {
  const server = join(folder, 'short.mjs');
  await writeFile(server, `${SERVER}\nsetTimeout(() => process.exit(3), 1500);`);
  const endpointId = await lbEndpoint([process.execPath, server, join(folder, 'none')]);
  await waitFor('a ready one', async () => (await workers(endpointId)).some(({ health }) => health === 'READY'));
  const ended = await waitFor('its end', async () =>
    (await workers(endpointId)).find(({ state }) => state === 'UNHEALTHY'),
  );
  t.match(ended.reason, /exit code 3/);
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
});
