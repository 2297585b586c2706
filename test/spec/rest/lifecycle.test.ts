// test: postgres, 10 s
/**
 * A whole life over REST, on a real system: registry credentials, a network volume, a template, an endpoint made with
 * the example body of the public documents, a pod; each is read and changed in every way of
 * docs/reference/management.md#operations, the endpoint does a job, billing shows all of it, and everything is deleted
 * again in order.
 */

import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import type { Answer } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const GPU = 'NVIDIA L4';
const USD_PER_HOUR = 3.6;

t.setTimeout(600_000);
t.test('REST from the first resource to the last', async (t) => {
  const system = await startSystem(t, {
    agentEnv: {
      SLIPWAY_VIRTUAL_GPUS: `${GPU}:24576x2`,
      SLIPWAY_AGENT_LOCATIONS: 'RO,EU-RO-1',
      SLIPWAY_AGENT_NAME: 'one',
    },
  });
  await call(system.clients.usage, 'setPrices', { prices: [{ item: GPU, usdPerHour: USD_PER_HOUR }] }, system.rootKey);
  const rest = (method: string, path: string, body?: object): Promise<Answer> =>
    system.request(method, `/v1/${path}`, body);
  const make = async (path: string, body: object, status = 200): Promise<Record<string, unknown> & { id: string }> => {
    const answer = await rest('POST', path, body);
    t.equal(answer.status, status, `${path}: ${answer.text.slice(0, 300)}`);
    return answer.json;
  };
  const list = async (path: string): Promise<Record<string, unknown>[]> =>
    (await rest('GET', path)).json as unknown as Record<string, unknown>[];
  const gone = async (t: Test, path: string): Promise<void> => {
    const answer = await rest('DELETE', path);
    t.equal(answer.status, 204, `${path}: ${answer.text}`);
    t.equal(answer.text, '', 'no body');
    t.equal((await rest('GET', path)).status, 404, `${path} is gone`);
  };

  const auth = await make('containerregistryauth', { name: 'ghcr', username: 'me', password: 'hunter2' });
  const volume = await make('networkvolumes', { name: 'models', size: 10, dataCenterId: 'EU-RO-1' });
  const template = await make('templates', {
    name: 'handler',
    imageName: '',
    dockerStartCmd: jsHandler('all.js'),
    isServerless: true,
    containerRegistryAuthId: auth.id,
    env: { SECRET: 'of the template' },
  });
  const endpoint = await make('endpoints', {
    name: 'first',
    templateId: template.id,
    gpuTypeIds: [GPU, 'NVIDIA A40'],
    workersMin: 1,
    workersMax: 1,
    idleTimeout: 60,
  });
  const command = [process.execPath, '-e', 'require("node:net").createServer().listen(0)'];
  const pod = await make(
    'pods',
    {
      name: 'notebook',
      computeType: 'CPU',
      imageName: '',
      dockerStartCmd: command,
      networkVolumeId: volume.id,
      env: { A: '1' },
      interruptible: null,
    },
    201,
  );

  await t.test('created resources are answered as created', async (t) => {
    t.same(auth, { id: auth.id, name: 'ghcr' }, 'no secrets');
    t.same(volume, { id: volume.id, name: 'models', size: 10, dataCenterId: 'EU-RO-1' });
    t.match(template, {
      volumeInGb: 0,
      ports: [],
      containerDiskInGb: 50,
      volumeMountPath: '/workspace',
      category: 'NVIDIA',
      isRunpod: false,
      earned: 0,
    });
    t.match(endpoint, {
      id: /^[a-z0-9]{14}$/,
      name: 'first',
      templateId: template.id,
      gpuTypeIds: [GPU, 'NVIDIA A40'],
      gpuCount: 1,
      workersMin: 1,
      workersMax: 1,
      idleTimeout: 60,
      type: 'QB',
      scalerType: 'QUEUE_DELAY',
      scalerValue: 4,
      executionTimeoutMs: 600_000,
      version: 0,
      computeType: 'GPU',
      flashboot: false,
      workersStandby: 1,
      userId: system.accountId,
      createdAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    });
    t.match(pod, {
      name: 'notebook',
      desiredStatus: 'RUNNING',
      image: '',
      dockerStartCmd: command,
      env: { A: '1' },
      endpointId: null,
      containerDiskInGb: 50,
      volumeInGb: 20,
      volumeMountPath: '/workspace',
      ports: ['8888/http', '22/tcp'],
      locked: false,
      interruptible: false,
      publicIp: null,
      portMappings: null,
      consumerUserId: system.accountId,
    });
    t.match(await make('templates', { name: 'of pods', imageName: 'x' }), {
      volumeInGb: 20,
      ports: ['8888/http', '22/tcp'],
      isServerless: false,
    });
  });

  await t.test('reads with their include parameters', async (t) => {
    for (const [path, { id }] of Object.entries({
      containerregistryauth: auth,
      networkvolumes: volume,
      templates: template,
      endpoints: endpoint,
      pods: pod,
    })) {
      t.equal((await rest('GET', `${path}/${id}`)).json.id, id, path);
      t.ok(
        (await list(path)).some((one) => one['id'] === id),
        `${path} lists it`,
      );
    }
    const workers = await waitFor('a worker', async () => {
      const [{ workers }] = (await list('endpoints?includeWorkers=true')) as [{ workers: unknown[] }];
      return workers.length > 0 && workers;
    });
    t.match(workers, [
      {
        endpointId: endpoint.id,
        slsVersion: 0,
        desiredStatus: 'RUNNING',
        env: {},
        gpu: { id: GPU, count: 1 },
        costPerHr: USD_PER_HOUR,
      },
    ]);
    t.notMatch(JSON.stringify(workers), 'of the template', 'environments of workers are not shown');
    const whole = (await rest('GET', `endpoints/${endpoint.id}?includeTemplate=true&includeWorkers=true`)).json;
    t.match(whole, {
      template: { id: template.id, env: { SECRET: 'of the template' } },
      workers: [{ endpointId: endpoint.id }],
    });
    const more = 'includeMachine=true&includeNetworkVolume=true&includeTemplate=true&includeSavingsPlans=true';
    const machine = { note: 'one', location: 'RO', dataCenterId: 'EU-RO-1', gpuTypeId: GPU, gpuAvailable: 2 };
    t.match((await rest('GET', `pods/${pod.id}?${more}`)).json, { machine, networkVolume: volume, savingsPlans: [] });
    t.notOk('machine' in (await rest('GET', `pods/${pod.id}`)).json, 'nothing that was not asked for');
  });

  await t.test('pods are filtered', async (t) => {
    const ids = async (query: string): Promise<unknown[]> => (await list(`pods?${query}`)).map(({ id }) => id);
    t.same(await ids(''), [pod.id], 'no workers');
    t.equal((await ids('includeWorkers=true')).length, 2);
    t.equal((await ids(`endpointId=${endpoint.id}`)).length, 1);
    t.equal((await ids(`includeWorkers=true&gpuTypeId=${GPU}&gpuTypeId=none`)).length, 1);
    const fitting = [
      'computeType=CPU',
      'desiredStatus=RUNNING',
      'name=notebook',
      `id=${pod.id}`,
      `networkVolumeId=${volume.id}`,
      'dataCenterId=EU-RO-1',
    ];
    for (const query of fitting) t.same(await ids(query), [pod.id], query);
    for (const query of ['computeType=GPU', 'desiredStatus=EXITED', 'name=x', 'cpuFlavorId=cpu3c', 'templateId=x'])
      t.same(await ids(query), [], query);
  });

  await t.test('changes, by PATCH and by POST', async (t) => {
    const change = async (path: string, body: object, wanted: object): Promise<void> => {
      for (const [method, after] of [
        ['PATCH', ''],
        ['POST', '/update'],
      ] as const) {
        const answer = await rest(method, path + after, body);
        t.equal(answer.status, 200, answer.text);
        t.match(answer.json, wanted, `${method} ${path}`);
      }
    };
    await change(
      `networkvolumes/${volume.id}`,
      { name: 'weights', size: 11 },
      { name: 'weights', size: 11, dataCenterId: 'EU-RO-1' },
    );
    await change(
      `templates/${template.id}`,
      { readme: '# It', unknown: 1 },
      { readme: '# It', name: 'handler', imageName: '' },
    );
    await change(
      `endpoints/${endpoint.id}`,
      { name: 'renamed', scalerType: 'REQUEST_COUNT' },
      { name: 'renamed', scalerType: 'REQUEST_COUNT', workersMax: 1 },
    );
    await change(`pods/${pod.id}`, { name: 'renamed', locked: false }, { name: 'renamed', env: { A: '1' } });
    await change(`pods/${pod.id}`, {}, { name: 'renamed' });
  });

  await t.test('a resource that was read can be sent back, and fixed fields stay', async (t) => {
    const { json: plain } = await rest('POST', 'endpoints', {
      name: 'without GPU',
      templateId: template.id,
      workersMax: 0,
    });
    const things = [
      ['networkvolumes', volume],
      ['templates', template],
      ['endpoints', endpoint],
      ['endpoints', plain],
    ] as const;
    for (const [path, { id }] of things) {
      const { json } = await rest('GET', `${path}/${id}`);
      const answer = await rest('PATCH', `${path}/${id}`, json);
      t.equal(answer.status, 200, `${path}: ${answer.text}`);
      t.same(answer.json, json, path);
    }
    t.equal((await rest('DELETE', `endpoints/${plain.id}`)).status, 204);
    const fixed: [path: string, body: object, field: string][] = [
      [`networkvolumes/${volume.id}`, { dataCenterId: 'US-1' }, 'dataCenterId'],
      [`templates/${template.id}`, { category: 'AMD' }, 'category'],
      [`templates/${template.id}`, { isServerless: false }, 'isServerless'],
      [`endpoints/${endpoint.id}`, { type: 'LB' }, 'type'],
      [`endpoints/${endpoint.id}`, { computeType: 'CPU' }, 'computeType'],
    ];
    for (const [path, body, field] of fixed) {
      t.match((await rest('PATCH', path, body)).json, {
        status: 400,
        message: new RegExp(`^${field} is fixed after creation and is `),
      });
    }
  });

  await t.test('the endpoint does a job', async (t) => {
    const answer = await system.request('POST', `/v2/${endpoint.id}/runsync`, { input: { mode: 'value', value: 42 } });
    t.match(answer.json, { status: 'COMPLETED', output: 42 });
  });

  await t.test('a pod stops, starts, restarts and is reset', async (t) => {
    for (const [act, desiredStatus] of [
      ['stop', 'EXITED'],
      ['start', 'RUNNING'],
      ['restart', 'RUNNING'],
      ['reset', 'RUNNING'],
    ] as const) {
      const answer = await rest('POST', `pods/${pod.id}/${act}`);
      t.equal(answer.status, 200, answer.text);
      t.match(answer.json, { id: pod.id, desiredStatus }, act);
    }
  });

  await t.test('billing shows the worker, the pod and the volume', async (t) => {
    const [byEndpoint] = await list('billing/endpoints?bucketSize=year');
    t.match(byEndpoint, {
      endpointId: endpoint.id,
      time: /^\d{4}-01-01T00:00:00\.000Z$/,
      timeBilledMs: Number,
      diskSpaceBilledGb: 50,
    });
    const { amount, timeBilledMs } = byEndpoint as { amount: number; timeBilledMs: number };
    t.ok(timeBilledMs > 0);
    t.ok(Math.abs(amount - (timeBilledMs / 3_600_000) * USD_PER_HOUR) < 1e-6, `${amount} USD for ${timeBilledMs} ms`);
    t.match(await list('billing/endpoints?grouping=gpuTypeId'), [{ gpuTypeId: GPU, endpointId: undefined }]);
    t.match(await list(`billing/endpoints?grouping=podId&gpuTypeId=${GPU}&dataCenterId=EU-RO-1`), [
      { podId: /^[a-z0-9]{14}$/ },
    ]);
    t.same(await list('billing/endpoints?endpointId=aaaaaaaaaaaaaa'), []);
    t.match(await list(`billing/pods?grouping=podId&podId=${pod.id}`), [{ podId: pod.id, amount: 0 }]);
    t.match(await list('billing/pods'), [{ gpuTypeId: '' }]);
    t.match(await list('billing/networkvolumes'), [
      { diskSpaceBilledGb: 11, amount: 0, highPerformanceStorageAmount: 0 },
    ]);
  });

  await t.test('all resources are deleted, in order', async (t) => {
    for (const path of [
      `templates/${template.id}`,
      `containerregistryauth/${auth.id}`,
      `networkvolumes/${volume.id}`,
    ]) {
      t.match((await rest('DELETE', path)).json, { status: 400, code: 'in_use' }, path);
    }
    const refused = await rest('DELETE', `endpoints/${endpoint.id}`);
    t.match(refused.json, { status: 400, code: 'workers_not_zero', message: `PATCH /v1/endpoints/${endpoint.id}` });
    t.equal((await rest('PATCH', `endpoints/${endpoint.id}`, { workersMin: 0, workersMax: 0 })).status, 200);
    await gone(t, `endpoints/${endpoint.id}`);
    await gone(t, `pods/${pod.id}`);
    await gone(t, `networkvolumes/${volume.id}`);
    await gone(t, `templates/${template.id}`);
    await gone(t, `containerregistryauth/${auth.id}`);
    for (const path of ['endpoints', 'pods?includeWorkers=true', 'networkvolumes', 'containerregistryauth'])
      t.same(await list(path), [], path);
    t.match(await list('billing/endpoints'), [{ endpointId: endpoint.id }], 'what was used stays on the bill');
  });

  await t.test('a core that is down is a 503, never an empty list', async (t) => {
    await system.cores[0]!.stop();
    const message = /not reachable right now; try again/;
    const answers = await Promise.all([
      rest('GET', 'endpoints'),
      rest('GET', 'pods'),
      rest('POST', 'templates', { name: 'x', imageName: 'x' }),
    ]);
    for (const { json } of answers) t.match(json, { status: 503, code: 'unavailable', message, error: message });
  });
});
