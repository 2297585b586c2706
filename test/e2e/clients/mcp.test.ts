// test: postgres, mcp, 15 s
/** `@runpod/mcp-server` 4, unmodified, over stdio: all its tools, including those for what does not exist here. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Test } from 'tap';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(300_000);

const GPU = 'NVIDIA GeForce RTX 4090';
const PLACE = 'EU-RO-1';
/** Most milliseconds of one call. */
const CALL_MS_MAX = 60_000;

requireDeclared('mcp');
const folder = createRequire(join(import.meta.dirname, '../../../.slipway-test/mcp/package.json'));
const load = async (name: string): Promise<object> => import(pathToFileURL(folder.resolve(name)).href);

/** Members of the MCP client that this test calls. Its package, with its types, is installed only for tests. */
interface McpClient {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(
    request: { name: string; arguments: object },
    schema: undefined,
    options: { timeout: number },
  ): Promise<{ isError?: boolean; content: { text?: string }[] }>;
}
const { Client } = (await load('@modelcontextprotocol/sdk/client/index.js')) as {
  Client: new (of: { name: string; version: string }) => McpClient;
};
const { StdioClientTransport } = (await load('@modelcontextprotocol/sdk/client/stdio.js')) as {
  StdioClientTransport: new (options: {
    command: string;
    args: string[];
    env: NodeJS.ProcessEnv;
    stderr: string;
  }) => object;
};

const system = await startSystem(t);
const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_564, migProfile: '' }];
await joinEngineMachine(t, system, { gpus, locations: [PLACE], cpuCount: 16, memoryMib: 65_536 });
const jobs = await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 });

const transport = new StdioClientTransport({
  command: process.execPath,
  args: [folder.resolve('@runpod/mcp-server').replace(/cjs$/, 'mjs')],
  env: {
    ...process.env,
    RUNPOD_API_KEY: system.key,
    RUNPOD_API_BASE_URL: system.url,
    RUNPOD_SERVERLESS_API_URL: `${system.url}/v2`,
    RUNPOD_PUBLIC_GRAPHQL_URL: `${system.url}/graphql`,
    RUNPOD_AUTHED_GRAPHQL_URL: `${system.url}/graphql`,
    DO_NOT_TRACK: '1',
  },
  // It writes a line for each call.
  stderr: 'ignore',
});
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
t.teardown(() => client.close());
const { tools } = await client.listTools();
const notCalled = new Set(tools.map(({ name }) => name));

/** Answer of a tool. `json`: undefined unless its text is JSON. */
interface ToolAnswer {
  text: string;
  json: { id: string; [name: string]: unknown };
  isFault: boolean;
}

async function use(name: string, given: object = {}): Promise<ToolAnswer> {
  notCalled.delete(name);
  const result = await client.callTool({ name, arguments: given }, undefined, { timeout: CALL_MS_MAX });
  const text = result.content.map((part) => part.text ?? '').join('\n');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  const isFault = result.isError === true || /^\W*error|"status": ?[45]\d\d/i.test(text.slice(0, 200));
  return { text, json: json as ToolAnswer['json'], isFault };
}

/** Calls a tool that must work. */
async function works(t: Test, name: string, given: object = {}): Promise<ToolAnswer> {
  const answer = await use(name, given);
  t.notOk(answer.isFault, `${name}: ${answer.text.slice(0, 300)}`);
  return answer;
}

/** Calls a tool for something that does not exist here. It must say so, and not fail in another way. */
async function refused(t: Test, name: string, given: object = {}): Promise<void> {
  const { isFault, text } = await use(name, given);
  t.ok(isFault, `${name} is refused: ${text.slice(0, 300)}`);
  t.notMatch(text, /"?status"?:? ?50[02-9]|internal/i, `${name} is no fault of the server`);
}

t.test('jobs of an endpoint', async (t) => {
  await works(t, 'endpoint-health', { endpointId: jobs });
  t.match((await works(t, 'runsync-endpoint', { endpointId: jobs, input: { mode: 'echo', word: 'mcp' } })).text, /mcp/);
  const stream = await works(t, 'run-endpoint', { endpointId: jobs, input: { mode: 'stream', values: ['a', 'b'] } });
  await works(t, 'stream-job', { endpointId: jobs, jobId: stream.json.id });
  const status = await works(t, 'get-job-status', { endpointId: jobs, jobId: stream.json.id, wait: 3_000 });
  t.match(status.json, { status: 'COMPLETED' });
  const held = await works(t, 'run-endpoint', {
    endpointId: jobs,
    input: { mode: 'until', file: '/nonexistent/gate' },
    policy: { ttl: 60_000 },
  });
  t.match((await works(t, 'cancel-job', { endpointId: jobs, jobId: held.json.id })).json, { status: 'CANCELLED' });
  const { json } = await use('runsync-endpoint', { endpointId: jobs, input: { mode: 'error', error: 'no' } });
  t.match((await works(t, 'retry-job', { endpointId: jobs, jobId: json.id })).json, { status: 'IN_QUEUE' });
  await works(t, 'purge-endpoint-queue', { endpointId: jobs });
  const { json: workers } = await works(t, 'list-endpoint-workers', { id: jobs });
  const [worker] = workers['workers'] as { id: string }[];
  await works(t, 'stream-worker-logs', { endpointId: jobs, workerId: worker!.id, maxWaitMs: 1_000 });
});

t.test('lists, catalogue, capacity, billing', async (t) => {
  for (const name of [
    ...['list-endpoints', 'list-templates', 'list-pods', 'list-network-volumes', 'list-registries', 'list-gpu-types'],
    ...['list-cpu-types', 'list-data-centers', 'list-public-templates', 'list-billing', 'list-pod-billing'],
    ...['list-serverless-billing', 'list-endpoint-billing', 'list-network-volume-billing', 'get-ssh-keys'],
    'get-capacity',
  ])
    await works(t, name);
  await works(t, 'get-gpu-type', { id: GPU, include: ['AVAILABILITY'], product: ['POD'] });
  await works(t, 'get-cpu-type', { id: 'cpu3c' });
  await works(t, 'get-data-center', { id: PLACE });
  const keys = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFMatrixKey me@host'];
  await works(t, 'update-ssh-keys', { body: { keys } });
  t.match((await works(t, 'get-ssh-keys')).text, /FMatrixKey/);
});

t.test('registries, volumes, templates, endpoints', async (t) => {
  const registry = await works(t, 'create-registry', { body: { name: 'mcp-registry', username: 'u', password: 'p' } });
  await works(t, 'get-registry', { id: registry.json.id });
  const volume = await works(t, 'create-network-volume', { body: { name: 'mcp', size: 10, dataCenter: PLACE } });
  await works(t, 'get-network-volume', { id: volume.json.id });
  await works(t, 'update-network-volume', { id: volume.json.id, body: { name: 'mcp-2', size: 20 } });
  const body = { name: 'mcp', image: 'a/b:1', serverless: true, category: 'CPU', disk: 5, env: { A: '1' } };
  const template = await works(t, 'create-template', { body });
  await works(t, 'get-template', { id: template.json.id });
  await works(t, 'update-template', { id: template.json.id, body: { env: { B: '2' } } });
  const endpoint = await works(t, 'create-endpoint', {
    body: {
      ...{
        name: 'mcp',
        type: 'QUEUE',
        image: 'a/b:1',
        disk: 5,
        gpu: { pools: ['ADA_24'], count: 1 },
        timeout: 300_000,
      },
      ...{ workers: { min: 0, max: 1, idleTimeout: 5 }, scaling: { type: 'QUEUE_DELAY', queueDelay: 0.5 } },
      flashboot: 'FLASHBOOT',
    },
  });
  const { id } = endpoint.json;
  await works(t, 'get-endpoint', { id });
  await works(t, 'update-endpoint', { id, body: { workers: { max: 2 } } });
  const given = { endpointId: id, pools: ['AMPERE_24'], excludeGpuTypeIds: ['NVIDIA L4'] };
  t.match((await works(t, 'set-endpoint-gpus', given)).text, /AMPERE_24/);
  await works(t, 'list-endpoint-releases', { id });
  t.match((await works(t, 'list-endpoint-builds', { id })).json, { builds: [] });
  await works(t, 'delete-endpoint', { id });
  await works(t, 'delete-template', { id: template.json.id });
  await works(t, 'delete-network-volume', { id: volume.json.id });
  await works(t, 'delete-registry', { id: registry.json.id });
});

t.test('pods', async (t) => {
  const body = { name: 'mcp', image: 'a/b:1', cpu: { id: 'cpu3c', vcpuCount: 2 }, disk: 5 };
  const { id } = (await works(t, 'create-pod', { body })).json;
  await works(t, 'get-pod', { id });
  await works(t, 'update-pod', { id, body: { name: 'mcp-2' } });
  await works(t, 'pod-action', { id, body: { action: 'stop' } });
  await works(t, 'delete-pod', { id });
});

t.test('the log of a pod that runs', async (t) => {
  const command = ['sh', '-c', 'echo a line of the pod; exec sleep 1000'];
  const { json } = await system.request('POST', '/v1/pods', {
    name: 'log',
    computeType: 'CPU',
    dockerStartCmd: command,
  });
  await waitFor('its log', async () => {
    const { text } = await use('stream-pod-logs', { podId: json.id, maxWaitMs: 1_000 });
    return text.includes('a line of the pod');
  });
  await works(t, 'pod-action', { id: json.id, body: { action: 'terminate' } });
});

t.test('what does not exist here has an empty list, and is refused', async (t) => {
  await refused(t, 'get-endpoint-build', { id: jobs, buildId: 'x' });
  t.match((await works(t, 'list-delegations')).json, { delegations: [] });
  t.match((await works(t, 'list-clusters')).json, { clusters: [] });
  t.match((await works(t, 'list-cluster-billing')).json, { records: [] });
  await refused(t, 'list-hub-repos');
  await refused(t, 'list-public-endpoints');
  await refused(t, 'deploy-hub-repo', { repo: 'me/worker', name: 'h' });
  await refused(t, 'create-delegation', { body: { resource: 'arn:aws:ecr:us-east-2:1:repository/x' } });
  await refused(t, 'revoke-delegation', { id: 'x' });
  const compute = { gpuTypeId: 'NVIDIA L4', gpuCountPerPod: 1, podCount: 2 };
  await refused(t, 'create-cluster', { body: { name: 'c', type: 'TRAINING', compute, image: 'a/b:1' } });
  for (const name of ['get-cluster', 'list-cluster-pods', 'delete-cluster']) await refused(t, name, { id: 'x' });
  await refused(t, 'update-cluster', { id: 'x', body: { name: 'y' } });
});

t.test('no tool was left out', async (t) => {
  t.same([...notCalled], []);
});
