// test: postgres, 10 s
/**
 * Quotas that the operator sets for an account: workers, GPUs, queued jobs, requests. Over two core replicas, the
 * facade and the command line.
 */
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const GPU = 'NVIDIA L4';
const system = await startSystem(t, { cores: 2, agentEnv: { SLIPWAY_VIRTUAL_GPUS: `${GPU}:24576x4` } });
const { clients, rootKey, accountId } = system;
type Quota = { workers?: number; gpus?: number; queuedJobs?: number; requests?: number };
const setQuota = (quota: Quota) => call(clients.access, 'setQuota', { accountId, quota }, rootKey);
const command = jsHandler('all.js');
const health = async (endpointId: string) =>
  (await call(clients.jobs, 'getHealth', { endpointId }, system.key)).workers!;
const reason = (endpointId: string) => waitFor('a reason', async () => (await health(endpointId)).throttledReason);
const stop = (endpointId: string) =>
  system.request('PATCH', `/v1/endpoints/${endpointId}`, { workersMin: 0, workersMax: 0 });

t.test('workers: two replicas never exceed the quota together', async (t) => {
  await setQuota({ workers: 3 });
  const ids = await Promise.all(
    [1, 2, 3].map(() => system.createEndpoint({ command, fields: { workersMin: 2, computeType: 'CPU' }, ready: 0 })),
  );
  await waitFor(
    'three workers',
    async () => (await Promise.all(ids.map(health))).reduce((sum, { ready }) => sum + ready, 0) === 3,
  );
  const throttled = await waitFor('the others to be throttled', async () => {
    const found = (await Promise.all(ids.map(health))).filter((each) => each.throttledReason !== '');
    return found.reduce((sum, each) => sum + each.throttled, 0) === 3 && found;
  });
  for (const { throttledReason } of throttled) t.equal(throttledReason, "the account's quota of 3 workers is used up");
  const { workers } = await call(clients.machines, 'listWorkers', { endpointId: '', accountId }, rootKey);
  t.equal(workers.length, 3);
  await setQuota({});
  await waitFor(
    'all six',
    async () => (await Promise.all(ids.map(health))).reduce((sum, { ready }) => sum + ready, 0) === 6,
  );
  await Promise.all(ids.map(stop));
});

t.test('GPUs: workers and pods share the quota', async (t) => {
  await setQuota({ gpus: 2 });
  const pod = await system.request('POST', '/v1/pods', { gpuTypeIds: [GPU], dockerStartCmd: ['sleep', '600'] });
  t.equal(pod.status, 201, pod.text);
  const endpointId = await system.createEndpoint({ command, fields: { workersMin: 2, gpuIds: [GPU] }, ready: 1 });
  t.equal(await reason(endpointId), "the account's quota of 2 GPUs is used up");
  const second = await system.request('POST', '/v1/pods', { gpuTypeIds: [GPU], dockerStartCmd: ['sleep', '600'] });
  t.match(second.json, { code: 'no_capacity', message: /The account's quota of 2 GPUs is used up; stop something/ });
  t.equal((await system.request('GET', `/v2/${endpointId}/health`)).status, 200);
  await setQuota({});
  await stop(endpointId);
});

t.test('queued jobs: all endpoints count together', async (t) => {
  const ids = await Promise.all(
    [1, 2].map(() => system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 })),
  );
  await setQuota({ queuedJobs: 4 });
  const submit = (id: string) => system.request('POST', `/v2/${id}/run`, { input: {} });
  // Each replica caches the quotas for up to 5 s.
  const refused = await waitFor('a refusal', async () => {
    const { status, json } = await submit(ids[0]!);
    return status === 429 && json;
  });
  t.match(refused, { code: 'queue_full', error: /The account's quota of 4 queued jobs is used up/ });
  await waitFor('a refusal of the other endpoint too', async () => (await submit(ids[1]!)).status === 429);
  await Promise.all(ids.map((id) => system.request('POST', `/v2/${id}/purge-queue`)));
  await waitFor('room', async () => (await submit(ids[1]!)).status === 200);
  await setQuota({});
});

t.test('requests: the quota holds per 10 s, and the command line shows it', async (t) => {
  const endpointId = await system.createEndpoint({ command, fields: { workersMin: 0 } });
  const root = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: system.key,
    SLIPWAY_ROOT_KEY: rootKey,
  });
  t.match(await root.json('accounts', 'quota', 'test', '--requests', '5'), {
    id: accountId,
    quota: { requests: 5, workers: null },
  });
  t.match(await root.json('accounts', 'list'), [{ name: 'test', quota: { requests: 5 } }]);
  const refused = await waitFor('a refusal', async () => {
    const { status, json } = await system.request('GET', `/v2/${endpointId}/health`);
    return status === 429 && json;
  });
  t.match(refused, { error: /The account's quota of 5 requests in 10 s is used up/ });
  t.match(await root.json('accounts', 'quota', accountId, '--requests', 'none'), { quota: { requests: null } });
  t.match(await root.run('accounts', 'quota', 'nobody', '--gpus', '1'), {
    code: 1,
    stderr: /There is no account "nobody"/,
  });
  t.match(await root.run('accounts', 'quota', 'test'), { code: 2, stderr: /Name a limit to set/ });
  t.ok(
    (await root.json<{ accountName: string }[]>('usage', '--all', '--by', 'account')).some(
      ({ accountName }) => accountName === 'test',
    ),
  );
  t.ok((await root.json<{ action: string }[]>('audit', '--all')).some(({ action }) => action === 'SetQuota'));
  const asked = await fetch(`${system.url}/v1/networkvolumes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${system.key}`,
      'content-type': 'application/json',
      'x-forwarded-for': '203.0.113.9',
    },
    body: JSON.stringify({ name: 'kept', size: 1, dataCenterId: 'default' }),
  });
  t.equal(asked.status, 200, await asked.text());
  t.match(await root.json('audit', '--limit', '1'), [
    {
      ...{ action: 'CreateNetworkVolume', subjectName: 'kept', address: '203.0.113.9', via: '127.0.0.1' },
      ...{ keyName: /./, values: { size_gb: { new: 1 } } },
    },
  ]);
  const badKey = { authorization: 'Bearer rpa_nosuchkey', 'x-forwarded-for': '203.0.113.10' };
  t.equal((await fetch(`${system.url}/v1/networkvolumes`, { headers: badKey })).status, 401);
  await waitFor('the refused key', async () =>
    (await root.json<{ address: string; refused: string }[]>('audit', '--all', '--refused')).some(
      ({ address, refused: why }) => address === '203.0.113.10' && why === 'UNAUTHORIZED',
    ),
  );
  t.match(await root.run('audit', '--all', '--refused'), { stdout: /203\.0\.113\.10 +refused: The API key is/ });
  t.match(await root.run('machines', 'forget', 'nosuchmachine'), { code: 1, stderr: /NOT_FOUND/ });
});
