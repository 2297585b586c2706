// test: postgres, 10 s
/** Keys, endpoints, templates, machines, workers and the other groups on the command line, against a whole system. */
import { join } from 'node:path';
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { publicRequest } from '../helpers/system/public-api.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

interface Named {
  id: string;
  name: string;
}

t.setTimeout(600_000);

t.test('management', async (t) => {
  const system = await startSystem(t, {
    agentEnv: { SLIPWAY_AGENT_NAME: 'dock-1', SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' },
  });
  const variables = { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key };
  const cli = commandLine(t, variables);
  const root = commandLine(t, { ...variables, SLIPWAY_ROOT_KEY: system.rootKey });
  const rest = async (path: string) => (await system.request('GET', path)).json as unknown as Record<string, unknown>;

  await t.test('keys', async (t) => {
    const made = await cli.json<{ id: string; secret: string; scope: string }>(
      'keys',
      'create',
      'reader',
      '--scope',
      'read-only',
    );
    t.match(made, { name: 'reader', scope: 'READ_ONLY', endpointIds: [], secret: /^rpa_/ });
    const request = publicRequest(system.url, made.secret);
    t.equal((await request('GET', '/v1/endpoints')).status, 200, 'the key works');
    t.equal((await request('POST', '/v1/templates', { name: 'x', imageName: 'x' })).status, 401, 'within its scope');
    t.match(await cli.run('keys', 'list'), {
      code: 0,
      stdout: new RegExp(`^ID +NAME +MAY[^]*${made.id} +reader +read-only +all`),
      stderr: '',
    });
    t.notMatch((await cli.run('keys', 'list')).stdout, made.secret, 'a key is shown once');
    t.match(await cli.run('keys', 'revoke', made.id), { code: 0, stdout: `Key ${made.id} is revoked.\n` });
    await waitFor(
      'the key to stop working',
      async () => (await request('GET', '/v1/endpoints')).status === 401,
      10_000,
    );
    t.match(await cli.json<Named[]>('keys', 'list').then((keys) => keys.find(({ id }) => id === made.id)), {
      revokedAt: /^2/,
    });
    t.match(await cli.run('keys', 'revoke', 'nosuchkey'), { code: 1, stdout: '', stderr: /^error: NOT_FOUND: / });
    const shown = await cli.run(
      'keys',
      'create',
      'narrow',
      '--scope',
      'restricted',
      '--management',
      'read',
      '--jobs',
      'none',
    );
    t.match(shown, {
      code: 0,
      stdout: /may +restricted: management read, jobs none\nkey +rpa_/,
      stderr: /shown only this once/,
    });
    t.match(await cli.run('keys', 'create', 'a', '--scope', 'restricted'), {
      code: 2,
      stderr: /needs --management or --jobs/,
    });
    t.match(await cli.run('keys', 'create', 'a', '--scope', 'agent'), {
      code: 2,
      stderr: /^error: This command is for the operator/,
    });
    t.match(await root.json('keys', 'create', 'rack', '--scope', 'agent'), { scope: 'AGENT', secret: /^rpm_/ });
    t.match(await root.run('keys', 'list', '--scope', 'agent'), { code: 0, stdout: /rack +agent .*not used yet/ });
    t.match(await root.run('keys', 'list', '--account', system.accountId), { code: 0, stdout: /reader +read-only/ });
    t.notMatch((await root.run('keys', 'list', '--account', system.accountId)).stdout, 'rack');
    const everybody = (await root.run('keys', 'list', '--all')).stdout;
    t.match(
      everybody,
      new RegExp(`^ID +NAME +ACCOUNT +MAY[^]*reader +${system.accountId} +read-only[^]*rack +agent `),
      'those of all and of machines',
    );
    t.match(await cli.run('keys', 'list', '--all'), { code: 2, stderr: /^error: This command is for the operator/ });
    t.match(await root.run('keys', 'create', 'a', '--scope', 'agent', '--account', system.accountId), {
      code: 1,
      stderr: /INVALID_REQUEST: account_id/,
    });
    t.match(await cli.json('accounts', 'show'), { id: system.accountId, name: 'test' });
    t.match(await root.run('accounts', 'create', 'second'), { code: 0, stdout: /^user_\w{27}\n$/ });
  });

  await t.test('templates and endpoints', async (t) => {
    const made = await cli.json<Named>(
      'templates',
      'create',
      'echo',
      '--env',
      'A=1',
      '--env',
      'B=x=y',
      '--port',
      '8888/http',
      '--',
      ...jsHandler('all.js'),
    );
    t.same(made, await rest(`/v1/templates/${made.id}`), 'the record is that of the REST API');
    t.match(made, { name: 'echo', env: { A: '1', B: 'x=y' }, dockerStartCmd: jsHandler('all.js'), isServerless: true });
    t.match(await cli.run('templates', 'create', 'echo', '--image', 'x'), { code: 1, stderr: /^error: NAME_TAKEN: / });
    t.match(await cli.run('templates', 'create', 'empty'), { code: 2, stderr: /give --image, or a command after --/ });
    t.match(await cli.json('templates', 'update', 'echo', '--env', '', '--disk', '7'), {
      id: made.id,
      env: {},
      containerDiskInGb: 7,
    });
    t.match(await cli.run('templates', 'get', 'echo'), {
      code: 0,
      stdout: /^id +\w{10}\nname +echo\n[^]*command +\S*node --import /,
    });

    const endpoint = await cli.json<Named & Record<string, unknown>>(
      'endpoints',
      'create',
      '--template',
      'echo',
      '--name',
      'first',
      '--workers-max',
      '2',
      '--idle-timeout',
      '30',
      '--scaler',
      'request-count',
      '--scaler-value',
      '2',
      '--execution-timeout',
      '90s',
      '--env',
      'C=3',
      '--flashboot',
      '--retry-limit',
      '0',
    );
    const { userId, ...record } = await rest(`/v1/endpoints/${endpoint.id}`);
    t.equal(userId, system.accountId);
    t.same(endpoint, record, 'the record is that of the REST API, but for the account');
    t.match(endpoint['flashBootStandbyReason'], /no machine can move the GPU memory/, 'the answer says it at once');
    t.match(endpoint, {
      executionTimeoutMs: 90_000,
      scalerType: 'REQUEST_COUNT',
      flashboot: true,
      retryLimit: 0,
      retryHandlerErrors: false,
      workersMin: 0,
      workersMax: 2,
    });
    t.match(await cli.json('endpoints', 'update', 'first', '--workers-min', '1', '--no-flashboot'), {
      workersMin: 1,
      workersMax: 2,
      flashboot: false,
      idleTimeout: 30,
    });
    t.match(await cli.run('endpoints', 'list'), {
      code: 0,
      stdout: new RegExp(`^ID +NAME [^]*${endpoint.id} +first +QB +1–2 +1 × any GPU`),
      stderr: '',
    });
    const sized = ['--compute', 'cpu', '--size', 'cpu3c-2-4', '--size', 'cpu5c-1-2', '--workers-max', '0'];
    t.match(await cli.json('endpoints', 'create', '--template', 'echo', '--name', 'sized', ...sized), {
      instanceIds: ['cpu3c-2-4', 'cpu5c-1-2'],
    });
    t.match(await cli.json('endpoints', 'update', 'sized', '--size', ''), { instanceIds: [] });
    t.match(await cli.json('endpoints', 'update', 'sized', '--model', 'org/a@v1', '--model', 'https://hf.co/org/b'), {
      modelReferences: ['org/a:v1', 'org/b'],
    });
    t.match((await cli.run('endpoints', 'get', 'sized')).stdout, /cached models +org\/a:v1, org\/b/);
    t.match((await cli.run('why', 'sized')).stdout, /models:\n {2}org\/a:v1: on no machine[^]*machines, for/);
    const wrong = await cli.run('endpoints', 'update', 'sized', '--model', 'gpt2');
    t.match(wrong, { code: 1, stderr: /INVALID_REQUEST: model.*"gpt2" names no model repository/ });
    t.match(await cli.json('endpoints', 'update', 'sized', '--model', ''), { modelReferences: [] });
    t.match(await cli.run('models', 'list'), { code: 2, stderr: /^error: This command is for the operator/ });
    t.match(await root.run('models', 'list'), { code: 0, stdout: '', stderr: /^No machine has a model/ });
    t.equal((await cli.run('endpoints', 'delete', 'sized')).code, 0);
    const balanced = await cli.json(
      'endpoints',
      'create',
      '--template',
      'echo',
      '--name',
      'balanced',
      '--type',
      'LB',
      '--workers-max',
      '0',
    );
    t.match(balanced, { type: 'LB', scalerType: 'REQUEST_COUNT', workerConcurrency: 100 });
    const { stdout: shown } = await cli.run('endpoints', 'get', 'balanced');
    t.match(
      shown,
      /^type +LB\n[^]*without a request\n[^]*scaler +REQUEST_COUNT 4\n[^]*requests +100 at once on a worker/m,
    );
    t.notMatch(shown, /^(jobs|retries) /m, 'it has no jobs, and nothing is tried again');
    t.match(await cli.run('endpoints', 'update', 'balanced', '--scaler', 'queue-delay'), {
      code: 1,
      stderr: /no queue/,
    });
    t.equal((await cli.run('endpoints', 'delete', 'balanced')).code, 0);
    t.match(await cli.run('templates', 'delete', 'echo'), { code: 1, stderr: /^error: IN_USE: / });
    const refused = await cli.run('endpoints', 'delete', 'first');
    t.match(refused, {
      code: 1,
      stderr: new RegExp(
        `^error: WORKERS_NOT_ZERO: [^]*endpoints update ${endpoint.id} --workers-min 0 --workers-max 0`,
      ),
    });
    t.match(await cli.run('endpoints', 'update', endpoint.id, '--workers-min', '5'), {
      code: 1,
      stderr: /^error: INVALID_REQUEST: workers_min is 5/,
    });
    t.match(await cli.run('endpoints', 'update', 'first'), { code: 2, stderr: /Name a setting to change/ });
    t.equal((await cli.run('endpoints', 'update', 'first', '--workers-min', '0', '--workers-max', '0')).code, 0);
    t.match(await cli.run('endpoints', 'delete', 'first'), {
      code: 0,
      stdout: `Endpoint ${endpoint.id} is deleted.\n`,
    });
    t.match(await cli.run('templates', 'delete', 'echo'), { code: 0 });
    t.match(await cli.run('endpoints', 'get', endpoint.id), { code: 1, stderr: /^error: ENDPOINT_NOT_FOUND: / });
    t.match(await cli.run('endpoints', 'get', 'first'), { code: 1, stderr: /There is no endpoint named "first"/ });
    t.match(await cli.run('endpoints', 'list'), { code: 0, stdout: '', stderr: /There are no endpoints/ });
    t.same(await cli.json('endpoints', 'list'), []);
  });

  await t.test('machines, workers and why one is unhealthy', async (t) => {
    t.match(await root.json('machines'), [
      { name: 'dock-1', connected: true, gpus: [{ name: 'NVIDIA L4' }, { name: 'NVIDIA L4' }], cpuSlots: 16 },
    ]);
    t.match(await root.run('machines'), {
      code: 0,
      stdout: /^NAME +ID +STATE +GPUS[^]*dock-1 +\w{12} +connected +2 × NVIDIA L4 24 GiB +16/,
      stderr: '',
    });
    const good = await system.createEndpoint({ command: jsHandler('all.js'), fields: { name: 'good' } });
    t.match(await cli.json('workers', 'good'), [{ endpointId: good, state: 'READY', capacity: 1, held: 0 }]);
    t.match(await cli.json('endpoints', 'health', 'good'), {
      workers: { ready: 1, unhealthy: 0 },
      jobs: { inQueue: 0 },
    });
    t.match(await cli.json('endpoints', 'restart', 'good', '--wait'), { id: good, version: 1 });
    t.match(await cli.json('workers', 'good'), [{ state: 'READY', version: 1 }], 'the old worker is gone');
    t.match(await cli.run('endpoints', 'restart', 'nosuch'), {
      code: 1,
      stderr: /There is no endpoint named "nosuch"; there are: good\.\n/,
    });
    await system.createEndpoint({
      command: ['/bin/sh', '-c', 'echo no such model >&2; exit 7'],
      fields: { name: 'bad' },
      ready: 0,
    });
    const shown = await waitFor('an unhealthy worker', async () => {
      const { stdout } = await cli.run('workers', 'bad');
      return stdout.includes('UNHEALTHY (exit code 7)') && stdout;
    });
    t.match(shown, /UNHEALTHY +[^]*is UNHEALTHY \(exit code 7\)\n {2}.*[^]*no such model/, 'with its last log lines');
    const [worker] = await cli.json<{ id: string; reason: string }[]>('workers', 'bad');
    t.match(await cli.run('logs', worker!.id), { code: 0, stdout: 'no such model\n' });
    t.match(await cli.run('endpoints', 'restart', 'bad', '--wait'), {
      code: 1,
      stderr: /The new worker \w+ does not come up; .*no such model/,
    });
    const all = await cli.json<{ endpointId: string }[]>('workers');
    t.ok(
      all.some(({ endpointId }) => endpointId === good),
      'those of all endpoints',
    );
    t.match(await cli.run('logs', 'nosuchworker00'), { code: 1, stderr: /^error: NOT_FOUND: / });
  });

  await t.test('pods, volumes, registry credentials, usage, prices and the audit trail', async (t) => {
    const volume = await cli.json<Named>('volumes', 'create', 'models', '--size', '10', '--data-center', 'eu-1');
    t.same(volume, await rest(`/v1/networkvolumes/${volume.id}`));
    t.match(await cli.json('volumes', 'update', volume.id, '--size', '20'), { size: 20 });
    t.match(await cli.run('volumes', 'update', volume.id, '--size', '5'), {
      code: 1,
      stderr: /^error: INVALID_REQUEST: /,
    });
    t.match(await cli.run('volumes', 'list'), { stdout: /models +20 GB +eu-1/ });
    t.equal((await cli.run('volumes', 'delete', volume.id)).code, 0);

    const created = await cli.runWith('s3cret\n', 'registry-auths', 'create', 'ghcr', '--username', 'me');
    t.match(created, { code: 0, stdout: /^ID +NAME +CREATED\n\w{12} +ghcr +just now\n$/ });
    t.match(await cli.json('registry-auths', 'list'), [{ name: 'ghcr' }]);

    const set = await cli.runWith('s3cret\n', 'secrets', 'set', 'hf-token', '--description', 'of the hub');
    t.match(set, { code: 0, stdout: /hf-token +just now +– +of the hub\n$/ });
    const templateId = (
      await cli.json<Named>('templates', 'create', 'secretive', '--env', 'A={{ RUNPOD_SECRET_hf-token }}', '--', 'true')
    ).id;
    const folder = t.testdir({ value: 's3cret2\n', bytes: Buffer.of(0xff) });
    t.match(await cli.json('secrets', 'set', 'hf-token', '--from-file', join(folder, 'value')), {
      name: 'hf-token',
      usedByCount: 1,
    });
    t.match(await cli.run('secrets', 'list'), { code: 0, stdout: /hf-token .*template secretive +of the hub/ });
    t.match(await cli.run('secrets', 'set', 'x', '--from-file', '/nowhere'), { code: 2, stderr: /cannot be read/ });
    t.match(await cli.run('secrets', 'set', 'x', '--from-file', join(folder, 'bytes')), {
      code: 2,
      stderr: /is not UTF-8/,
    });
    t.notMatch(JSON.stringify(await cli.json('secrets', 'list')), 's3cret');
    t.match(await cli.run('secrets', 'rm', 'hf-token'), {
      code: 0,
      stdout: /^Secret hf-token is removed.\nNo worker or pod starts any more .*: template secretive.\n$/,
    });
    t.match(await cli.run('secrets', 'rm', 'hf-token'), { code: 1, stderr: /NOT_FOUND/ });
    t.same(await cli.json('secrets', 'list'), []);
    await cli.run('templates', 'delete', templateId);

    const program = ['/bin/sh', '-c', 'echo tick; exec sleep 1000'];
    const pod = await cli.json<Named>(
      'pods',
      'create',
      'clock',
      '--compute',
      'cpu',
      '--size',
      'cpu3c-1-2',
      '--',
      ...program,
    );
    t.match(pod, {
      name: 'clock',
      desiredStatus: 'RUNNING',
      dockerStartCmd: program,
      endpointId: null,
      cpuFlavorId: 'cpu3c',
      vcpuCount: 1,
    });
    t.match(await cli.run('pods', 'list'), { code: 0, stdout: /clock +\S/ });
    t.match(await cli.json('pods', 'list', '--workers'), [{ name: 'good' }]);
    t.match(await cli.json('pods', 'stop', pod.id), { desiredStatus: 'EXITED' });
    t.equal((await cli.run('pods', 'delete', pod.id)).code, 0);
    t.match(await cli.run('pods', 'get', pod.id), { code: 1, stderr: /^error: NOT_FOUND: / });

    t.match(await root.run('prices', 'set', 'CPU', '0.5'), {
      code: 0,
      stdout: 'CPU costs 0.5 USD an hour. What runs already keeps its price.\n',
    });
    t.match(await root.run('prices', 'set', 'CPU', 'free'), { code: 2, stderr: /amount in US dollars/ });
    t.same(await cli.json('prices', 'list'), [{ item: 'CPU', usdPerHour: 0.5 }]);
    t.match(await cli.run('prices', 'set', 'CPU', '0'), {
      code: 2,
      stderr: /^error: This command is for the operator/,
    });
    t.match(await cli.run('prices', 'set', 'CPU', '0', '--key', system.key), {
      code: 1,
      stderr: /^error: UNAUTHORIZED/,
    });
    t.match(await cli.json('usage', 'workers', '--by', 'endpoint'), [
      { timeBilledMs: Number, endpointId: /^\w{14}$/, amount: Number },
    ]);
    t.match(await cli.run('usage'), { code: 0, stdout: /^FROM +ENDPOINT +HOURS +USD\n\d{4}-\d\d-\d\d / });
    t.match(await cli.run('usage', '--from', 'yesterday'), { code: 2, stderr: /a date as 2026-01-31/ });
    t.match(await cli.json('audit', '--limit', '3'), [
      { action: 'DeletePod', subjectId: pod.id, fields: [] },
      { action: 'StopPod' },
      { action: 'CreatePod' },
    ]);
    t.match(await cli.run('audit', '--subject', pod.id), { code: 0, stdout: /^WHEN +ACTION[^]*CreatePod/ });
  });
});
