// test: postgres, 10 s
/**
 * Where the GPU memory of a worker is, on every surface: REST v1 and v2, GraphQL, the command line, `why`, and the
 * console in a browser. A real core and facade, a scripted agent.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { GpuOffload } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { commandLine } from '../cli/command-line.ts';
import { graphqlClient } from '../facades/graphql/graphql-client.ts';
import { openProfile, startChromium, whyNoChromium } from '../helpers/console/chromium.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { ScriptedAgent } from '../helpers/grpc/scripted-agent.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { startSystem } from '../helpers/system/system.ts';
import { PATIENCE_MS, waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(300_000);

const GB = 1e9;
const FIELDS = { workersMin: 0, idleTimeoutSeconds: 1, gpuIds: ['NVIDIA L4'], flashBootType: FlashBootType.FLASHBOOT };
const CARD = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const MOVES = {
  lastOffload: { bytes: 10 * GB, durationMs: 5_300 },
  lastRestore: { bytes: 10 * GB, durationMs: 2_400 },
};

const system = await startSystem(t, { agents: 0 });
const agent = new ScriptedAgent({
  address: system.cores[0]!.address,
  agentKey: await system.newKey(KeyScope.AGENT),
  machineId: 'standby00001',
  gpus: [CARD],
  offload: {},
  gpuBytes: 10 * GB,
});
t.teardown(() => agent.drop());
await agent.connect();
const create = async (name: string) =>
  endpointJobs(system, await system.createEndpoint({ command: ['true'], fields: { ...FIELDS, name }, ready: 0 }));
const [behind, holder] = [await create('behind'), await create('holder')];
const run = async (jobs: typeof behind) => jobs.reached(await jobs.run({}), 'COMPLETED');
const workerOf = async (endpointId: string) => {
  const { workers } = await call(system.clients.machines, 'listWorkers', { endpointId }, system.key);
  return workers[0];
};
const reaches = (endpointId: string, level: StandbyLevel): Promise<string> =>
  waitFor(`level ${level}`, async () => {
    const worker = await workerOf(endpointId);
    return worker?.standbyLevel === level && worker.id;
  });
const operator = (t: Test) =>
  commandLine(t, {
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: system.key,
    SLIPWAY_ROOT_KEY: system.rootKey,
  });
// Out and back once, then out again for the other endpoint, whose worker stays on the card.
await run(behind);
await run(holder);
await run(behind);
await run(holder);
const inHost = await reaches(behind.id, StandbyLevel.HOST);
const onGpu = await reaches(holder.id, StandbyLevel.GPU);

t.test('REST v1: the workers of an endpoint, and a worker as a pod', async (t) => {
  const { json } = await system.request('GET', `/v1/endpoints/${behind.id}?includeWorkers=true`);
  const shown = { id: inHost, standbyLevel: 'HOST', gpuMemoryBytes: 10 * GB, ...MOVES };
  t.match(json, { workers: [shown] });
  t.match((await system.request('GET', `/v1/pods/${inHost}`)).json, shown);
  const other = (await system.request('GET', `/v1/pods/${onGpu}`)).json;
  t.match(other, { standbyLevel: 'GPU', gpuMemoryBytes: 10 * GB });
});

t.test('GraphQL: the workers of an endpoint', async (t) => {
  const { ok } = graphqlClient(t, system.url, system.key);
  const move = '{ bytes durationMs }';
  const { endpoint } = await ok<{ endpoint: { pods: unknown } }>(
    `query ($id: String!) { endpoint(id: $id) {
      pods { id standbyLevel gpuMemoryBytes lastOffload ${move} lastRestore ${move} } } }`,
    { id: behind.id },
  );
  t.strictSame(endpoint.pods, [{ id: inHost, standbyLevel: 'HOST', gpuMemoryBytes: 10 * GB, ...MOVES }]);
});

t.test('REST v2: the workers of an endpoint', async (t) => {
  const { json } = await system.request('GET', `/v2/serverless/${behind.id}/workers`);
  t.match(json, { workers: [{ id: inHost, standbyLevel: 'HOST', gpuMemoryBytes: 10 * GB, ...MOVES }] });
});

t.test('the command line: workers, and what the machine keeps', async (t) => {
  const cli = operator(t);
  const { stdout } = await cli.run('workers', 'list', behind.id);
  t.match(stdout, /FROZEN in host memory/);
  t.match(stdout, /10\.0 GB, out in 5\.3 s, back in 2\.4 s/);
  t.match(await cli.run('machines', 'get', 'standby00001'), {
    stderr: '',
    stdout: /offload\s+10\.0 GB of 68\.7 GB of host memory/,
  });
  const { stdout: machine } = await cli.run('machines', 'get', 'standby00001');
  t.match(
    machine,
    /HELD BY\s+IN HOST MEMORY\nGPU-1.*worker \w+ of holder .*behind\n/,
    'who has the card, who is behind',
  );
  t.match(machine, /behind.*FROZEN in host memory/);
  t.match((await cli.run('why', behind.id)).stdout, /in host memory/);
});

t.test('the console: who has the card, and who is behind it', { skip: whyNoChromium() }, async (t) => {
  const context = await openProfile(await startChromium(t), { viewport: { width: 1280, height: 800 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
  await page.goto(`${system.url}/console`);
  await page.getByLabel('API key').fill(system.rootKey);
  await page.keyboard.press('Enter');
  const square = page.locator('.gpus .gpu');
  await square.getByText('+1 in host memory').waitFor();
  t.match(await square.getAttribute('title'), /: holder.*; in host memory: behind$/);
  await page.goto(`${system.url}/console/machines/standby00001`);
  await page.getByText('; in host memory: behind').waitFor();
  await page.goto(`${system.url}/console/endpoints/${behind.id}/activity`);
  const line = page.locator('.worker-lines li').filter({ hasText: inHost });
  await line.getByText(/in host memory, 10\.0\sGB, out in 5(\.3)?\ss, back in 2(\.4)?\ss/).waitFor();
  t.equal((await page.locator('.phases .standby').count()) > 0, true, 'its time on standby is drawn');
});

t.test('the command line: machines that cannot do it say why', async (t) => {
  const join = async (machineId: string, offload?: Partial<GpuOffload>): Promise<string> => {
    const agentKey = await system.newKey(KeyScope.AGENT);
    const address = system.cores[0]!.address;
    const other = new ScriptedAgent({ address, agentKey, machineId, gpus: [CARD], ...(offload && { offload }) });
    t.teardown(() => other.drop());
    await other.connect();
    return (await operator(t).run('machines', 'get', machineId)).stdout;
  };
  const unsupported = { supported: false, unsupportedReason: 'driver 565.90 is older than 570', standbyMemoryBytes: 0 };
  t.match(await join('standby00002', unsupported), /offload\s+no: driver 565\.90 is older than 570/);
  t.match(await join('standby00003'), /offload\s+no: its agent is older than this/);
});

t.test('the command line: an operator takes a GPU for a while', async (t) => {
  const cli = operator(t);
  t.match(await cli.run('workers', 'suspend', onGpu), { code: 0, stderr: '' });
  await reaches(holder.id, StandbyLevel.HOST);
  t.match((await cli.run('workers', 'list', holder.id)).stdout, /FROZEN in host memory, suspended/);
  t.match(await cli.run('workers', 'resume', onGpu), { code: 0, stderr: '' });
  await reaches(holder.id, StandbyLevel.GPU);
});
