// test: alone, postgres, python, 50 s
/**
 * Load-balancing workers in containers, on a real Podman: a uvicorn server in an image, reached at its own address on
 * the port of its template.
 */
import { join } from 'node:path';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import postgres from 'postgres';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { checkTcpPorts } from '../../helpers/pods/tcp-ports.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const IMAGE = 'localhost/lb-worker:1';

t.test('load-balancing workers in containers', { skip: podmanSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../../handlers/asgi.py'), IMAGE);
  const system = await startSystem(t, {
    agentEnv: {
      SLIPWAY_AGENT_CONTAINERS: podman.socket,
      SLIPWAY_AGENT_LOCATIONS: 'here',
      SLIPWAY_METRICS_LISTEN: '127.0.0.1:0',
    },
  });
  const { at, shown } = lbClient(system);
  const image = { imageName: IMAGE, containerDiskInGb: 0 };

  await t.test('several on one machine, all on the port of their template', async (t) => {
    const more = { ...image, ports: ['22/tcp', '8123/http'], env: { HOST: '0.0.0.0', HEALTH_CHECK_PATH: '/healthz' } };
    const endpointId = await lbEndpoint(system, { workersMin: 2, workersMax: 2 }, { command: [], more });
    await waitFor(
      'both',
      async () =>
        ((await (await at(endpointId, '/health')).json()) as { workers: { ready: number } }).workers.ready === 2,
      90_000,
    );
    const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId }, system.key);
    for (const { id } of workers) {
      const headers = { 'x-runpod-worker-id': `strict ${id}` };
      t.match(await shown(at(endpointId, '/chat?x=1', { method: 'POST', body: 'hello', headers })), {
        worker: id,
        port: '8123',
        bytes: 5,
        method: 'POST',
      });
      const [name] = (await podman.cli('ps', '--format={{.Names}}')).split('\n').filter((line) => line.includes(id));
      const address = (
        await podman.cli('inspect', '--format={{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', name!)
      ).trim();
      t.match(await (await fetch(`http://${address}:8123/x`)).json(), { worker: id }, 'its address is its own');
    }
  });

  await t.test('the port in its environment takes precedence; an ended worker is replaced', async (t) => {
    const more = { ...image, ports: ['8123/http'], env: { HOST: '0.0.0.0', PORT: '9001' } };
    const endpointId = await lbEndpoint(system, { workersMin: 1, workersMax: 1 }, { command: [], more });
    const { worker, port } = await shown(at(endpointId, '/x'));
    t.equal(port, '9001');
    const [name] = (await podman.cli('ps', '--format={{.Names}}')).split('\n').filter((line) => line.includes(worker));
    await podman.cli('kill', name!);
    // The engine's network goes with its last container. Until the facade learns of its end, a request leaves this host
    // for any other host with that address.
    const toIt = { headers: { 'x-runpod-worker-id': `strict ${worker}` } };
    await waitFor('its end', async () =>
      (await (await at(endpointId, '/x', toIt)).text()).includes('affinity_worker_gone'),
    );
    const next = await shown(at(endpointId, '/x'));
    t.not(next.worker, worker, 'the request waited for its successor');
  });

  await t.test(
    'out of memory: its request fails, its reason says so, it is counted, and another takes its place',
    async (t) => {
      const more = { ...image, ports: ['8123/http'], env: { HOST: '0.0.0.0' } };
      const fields = { workersMin: 1, workersMax: 1, instanceIds: ['cpu3c-1-1'] };
      const endpointId = await lbEndpoint(system, fields, { command: [], more });
      const { worker } = await shown(at(endpointId, '/x'));
      t.equal((await at(endpointId, '/memory?2000')).status, 502);
      const reason = await waitFor('its reason', async () => {
        // A living worker has a reason too, if it answers late.
        const { recent } = await call(system.clients.machines, 'listWorkers', { endpointId }, system.key);
        return recent.find(({ id, reason }) => id === worker && reason !== '')?.reason;
      });
      t.match(reason, /ran out of memory: it has 1 GiB/);
      t.equal(valueOf(await readMetrics(system.metrics.agents[0]!), 'slipway_agent_workers_out_of_memory_total'), 1);
      t.not((await shown(at(endpointId, '/x'))).worker, worker);
    },
  );

  await t.test('a machine among others: a port of the host leads to each', async (t) => {
    const far = await system.startAgent(undefined, {
      SLIPWAY_ADVERTISE_HOST: '127.0.0.1',
      SLIPWAY_AGENT_LOCATIONS: 'far',
    });
    const more = { ...image, ports: ['8123/http'], env: { HOST: '0.0.0.0' } };
    const endpointId = await lbEndpoint(
      system,
      { workersMin: 2, workersMax: 2, locations: ['far'] },
      { command: [], more },
    );
    await waitFor(
      'both',
      async () =>
        ((await (await at(endpointId, '/health')).json()) as { workers: { ready: number } }).workers.ready === 2,
      90_000,
    );
    const sql = postgres(system.database.url, { max: 1 });
    const rows = await sql<
      { id: string; address: string }[]
    >`SELECT id, address FROM worker WHERE endpoint_id = ${endpointId}`;
    await sql.end();
    for (const { id, address } of rows) {
      t.match(address, /^127\.0\.0\.1:[23]\d{4}$/);
      const headers = { 'x-runpod-worker-id': `strict ${id}` };
      const body = 'x'.repeat(3_000_000);
      t.match(await shown(at(endpointId, '/up', { method: 'POST', body, headers })), {
        worker: id,
        bytes: body.length,
        port: '8123',
      });
    }
    await far.stop();
    await t.rejects(fetch(`http://${rows[0]!.address}/x`), 'the port goes with the worker');
  });

  await t.test(
    'pods: their http ports, at their own address, by a port of the host, and through a tunnel',
    async (t) => {
      const pods = podCalls(system.clients, system.key);
      const ask = async (pod: Pod, port: number, init: RequestInit = {}): Promise<Response> =>
        fetch(`${system.url}/pods/${pod.id}/${port}/up?x=1`, {
          ...init,
          headers: { authorization: `Bearer ${system.key}` },
        });
      await system.startAgent(undefined, {
        SLIPWAY_ADVERTISE_HOST: '127.0.0.1',
        SLIPWAY_AGENT_LOCATIONS: 'far',
        SLIPWAY_PUBLIC_HOST: 'localhost',
      });
      await system.startAgent(undefined, { SLIPWAY_TUNNEL_ADDRESS: system.url, SLIPWAY_AGENT_LOCATIONS: 'hidden' });
      const start = (location: string): Promise<Pod> =>
        waitFor('a machine', () =>
          pods.create({
            name: 'web',
            imageName: IMAGE,
            computeType: 'CPU',
            ports: ['8123/http', '8124/http', '22/tcp', '8123/tcp'],
            locations: [location],
            env: { HOST: '0.0.0.0', PORT: '8123', HEALTH_CHECK_PATH: '/ping' },
          }),
        );
      for (const location of ['here', 'far', 'hidden']) {
        const pod = await start(location);
        const body = 'x'.repeat(3_000_000);
        const answer = await waitFor('its program', async () => {
          const response = await ask(pod, 8123, { method: 'POST', body });
          return response.status === 200 && response;
        });
        t.match(
          await answer.json(),
          { worker: pod.id, method: 'POST', url: '/up', bytes: body.length, port: '8123' },
          location,
        );
        t.equal((await ask(pod, 8124)).status, 502, 'a port without a listener');
        t.equal((await ask(pod, 22)).status, 404, 'no http port');
        await checkTcpPorts(t, system, pod.id, location === 'far');
        await pods.remove(pod.id);
        await waitFor('its end', async () => (await ask(pod, 8123)).status !== 200);
      }
    },
  );

  await t.test('a server that listens on loopback only is never ready', async (t) => {
    const endpointId = await lbEndpoint(
      system,
      { workersMin: 1, workersMax: 1 },
      { command: [], more: { ...image, ports: ['8123/http'] } },
    );
    const state = await waitFor('it to run', async () => {
      const { workers } = (await (await at(endpointId, '/health')).json()) as { workers: Record<string, number> };
      return workers['running'] === 1 && workers;
    });
    t.equal(state['ready'], 0);
  });
});
