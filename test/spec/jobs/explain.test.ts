// test: postgres, 10 s
/**
 * GET /explain, `slipway why` and `slipway decisions` on a running system; a load-balancing endpoint's path stays its
 * workers'.
 */

import { binOf } from '@slipway/core/domain/scaling/traffic';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import postgres from 'postgres';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const system = await startSystem(t);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
const endpoint = endpointJobs(
  system,
  await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 }, workersMax: 0 }),
);
const get = (path: string) => system.request('GET', `/v2/${endpoint.id}${path}`);

t.test('an endpoint and its waiting job are explained over HTTP and on the command line', async (t) => {
  const { id } = (await system.request('POST', `/v2/${endpoint.id}/run`, { input: {} })).json as unknown as {
    id: string;
  };
  const WAITS = /jobs? wait.*workersMax is 0: raise it/;
  const explained = await waitFor('the queue to be seen', async () => {
    const json = (await get('/explain')).json as unknown as { queued: number; lastDecision?: object };
    return json.queued > 0 && json.lastDecision && json;
  });
  t.match(explained, {
    endpointId: endpoint.id,
    summary: WAITS,
    queued: 1,
    workers: [],
    machines: [{ count: 1, fits: true }],
    lastDecision: { target: 0 },
  });
  t.match((await get(`/explain/${id}`)).json, {
    jobId: id,
    state: 'IN_QUEUE',
    queuePosition: 1,
    summary: WAITS,
    endpoint: { queued: 1 },
  });
  t.match(await get('/explain/none'), { status: 404 });
  t.match(await system.request('POST', `/v2/${endpoint.id}/explain`, {}), { status: 405 }, 'it is asked by GET alone');
  t.match((await cli.run('why', endpoint.id)).stdout, WAITS);
  t.match((await cli.run('why', id, '--endpoint', endpoint.id)).stdout, /^It waits in place 1\./);
  t.match(JSON.parse((await cli.run('why', id, '-e', endpoint.id, '--json')).stdout), { queuePosition: 1 });
  const crashing = endpointJobs(
    system,
    await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 } }),
  );
  const lost = (await system.request('POST', `/v2/${crashing.id}/runsync`, { input: { mode: 'exit', code: 3 } }))
    .json as unknown as { id: string };
  await waitFor('how its workers ended', async () => {
    const { explanation } = await call(
      system.clients.jobs,
      'explain',
      { endpointId: crashing.id, jobId: lost.id },
      system.key,
    );
    return explanation!.attempts.length === 3 && explanation!.attempts.every(({ exitCode }) => exitCode === 3);
  });
  const { json: history } = await system.request('GET', `/v2/${crashing.id}/explain/${lost.id}`);
  const CAUSE = /ended with exit code 3 while it held the job/;
  t.match(history, {
    state: 'FAILED',
    lostAttempts: 2,
    attempts: [3, 2, 1].map((attempt) => ({ attempt, workerAlive: false, lostAt: /Z$/, cause: CAUSE })),
  });
  const { stdout } = await cli.run('why', lost.id, '--endpoint', crashing.id);
  t.match(stdout, /attempt 1 came to nothing .* ago: .*exit code 3 while[^]*Its worker .* exit code 3/);
  t.match((await cli.run('decisions', endpoint.id)).stdout, /there|no job waits|workersMax/);
  const asked = await cli.run('decisions', endpoint.id, '--what-if', 'workersMax=5,scalerType=slo,idleTimeout=2');
  t.match(asked, { code: 0, stdout: /of \d+ recorded decisions would have come to another number of workers/ });
  t.match(await cli.run('decisions', endpoint.id, '--what-if', 'color=red'), {
    code: 2,
    stderr: /workersMin, workersMax/,
  });
});

t.test('--what-if shows workers, waits and GPU seconds side by side, by period and in total', async (t) => {
  const fields = { workersMin: 0, scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1, idleTimeoutSeconds: 1 };
  const id = await system.createEndpoint({ command: jsHandler('all.js'), fields, workersMax: 4 });
  const sql = postgres(system.database.url, { max: 1 });
  t.teardown(() => sql.end());
  // An hour ago: 40 jobs of 20 s within 10 s, each of which waited 5 s.
  const histogram = (ms: number): string =>
    `{${Array.from({ length: 40 }, (_, bin) => (bin === binOf(ms) ? 40 : 0)).join(',')}}`;
  await sql`
    INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
    VALUES (${id}, now() - interval '1 hour', 10000, 40, 40, 800000, ${histogram(20_000)}::int[],
      ${histogram(5_000)}::int[])`;
  const { stdout, code } = await cli.run('decisions', id, '--what-if', 'workersMax=1', '--hours', '2');
  t.equal(code, 0);
  const rows = stdout
    .split('\n')
    .filter((line) => /^(from|all|\d{4}-\d\d-\d\dT)/.test(line))
    .map((line) => line.trim().split(/ {2,}/));
  const [head, ...periods] = rows;
  t.same(head, [
    'from',
    'jobs',
    'workers: was',
    'modelled',
    'would be',
    'p95 wait: was',
    'modelled',
    'would be',
    'GPU seconds: was',
    'modelled',
    'would be',
  ]);
  t.equal(periods.length, 13, 'twelve periods and all of it');
  t.ok(
    periods.every((row) => row.length === head!.length),
    'a figure in each column',
  );
  const all = periods.at(-1)!;
  t.equal(all[0], 'all');
  t.equal(all[1], '40');
  const [wasWorkers, , , wasWait, modelledWait, wouldWait, wasSeconds, modelledSeconds, wouldSeconds] = all
    .slice(2)
    .map(Number.parseFloat);
  t.same([wasWorkers, wasSeconds], [0, 0], 'no worker was metered');
  t.ok(wasWait! > 4 && wasWait! < 8, 'as it was measured');
  t.ok(modelledWait! > 150 && modelledWait! < 250, 'ten jobs one after the other for each of four workers');
  t.ok(wouldWait! > 700, 'and forty for one');
  t.ok(
    modelledSeconds! >= 800 && wouldSeconds! >= 800 && wouldSeconds! < modelledSeconds!,
    'the same work, and fewer starts for it',
  );
});

t.test(
  'the last lines of a crashed worker are lines on the command line, and the last of them is in the sentence',
  async (t) => {
    const command = [
      process.execPath,
      '-e',
      'console.log("loading"); console.log("KeyError: weights"); process.exit(3)',
    ];
    const id = await system.createEndpoint({ command, fields: { workersMin: 0 } });
    await system.request('POST', `/v2/${id}/run`, { input: {} });
    const { stdout } = await waitFor('the crash to be told', async () => {
      const asked = await cli.run('why', id);
      return asked.stdout.includes('crashed:') && asked;
    });
    t.match(stdout, /crashed \(.* Its last lines: … KeyError: weights\)\./);
    t.match(stdout, /crashed: .* Its last lines:\n {4}loading\n {4}KeyError: weights\n/);
  },
);

t.test(
  'ids of another account are answered like unknown ids, over HTTP, on the command line and by gRPC',
  async (t) => {
    const { clients, rootKey, url } = system;
    const { accountId } = await call(clients.access, 'createAccount', { name: 'stranger' }, rootKey);
    const key = await system.newKey(KeyScope.ALL, accountId);
    const template = (
      await call(
        clients.templates,
        'createTemplate',
        {
          template: Template.fromPartial({ name: 'own', startCommand: ['true'], serverless: true }),
        },
        key,
      )
    ).template!;
    const made = {
      endpoint: Endpoint.fromPartial({ name: 'own', templateId: template.id }),
      requestId: '',
      workersMax: 0,
      retryLimit: undefined,
    };
    const own = (await call(clients.endpoints, 'createEndpoint', made, key)).endpoint!.id;
    const { id: theirs } = (await system.request('POST', `/v2/${endpoint.id}/run`, { input: {} })).json as unknown as {
      id: string;
    };
    const nobody = { endpoint: 'nosuchendpoint', job: '00000000-0000-4000-8000-000000000000-u1' };
    const words = (text: string): string =>
      text
        .replaceAll(endpoint.id, 'E')
        .replaceAll(nobody.endpoint, 'E')
        .replaceAll(theirs, 'J')
        .replaceAll(nobody.job, 'J');

    const get = publicRequest(url, key);
    const asked = async (path: string) => {
      const { status, json } = await get('GET', `/v2/${path}`);
      return words(`${status} ${JSON.stringify(json)}`);
    };
    const stranger = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: key });
    const ran = async (...args: string[]) => {
      const { code, stdout, stderr } = await stranger.run(...args);
      return words(`${code} ${stdout} ${stderr}`);
    };
    const ways: [string, (endpointId: string, jobId: string) => Promise<string>][] = [
      ['GET /explain', (endpointId) => asked(`${endpointId}/explain`)],
      ['GET /explain/{job_id}', (endpointId, jobId) => asked(`${endpointId}/explain/${jobId}`)],
      ['their job at an endpoint of its own', (_, jobId) => asked(`${own}/explain/${jobId}`)],
      ['why ENDPOINT', (endpointId) => ran('why', endpointId)],
      ['why JOB', (endpointId, jobId) => ran('why', jobId, '--endpoint', endpointId)],
      ['why JOB, at an endpoint of its own', (_, jobId) => ran('why', jobId, '--endpoint', own)],
      ['decisions', (endpointId) => ran('decisions', endpointId)],
      ['what if', (endpointId) => ran('decisions', endpointId, '--what-if', 'workersMax=5')],
      [
        'EndpointService.Explain',
        async (endpointId) => words(await reasonOf(call(clients.endpoints, 'explain', { endpointId }, key))),
      ],
      [
        'JobService.Explain',
        async (endpointId, jobId) => words(await reasonOf(call(clients.jobs, 'explain', { endpointId, jobId }, key))),
      ],
      [
        'its endpoint, their job',
        async (_, jobId) => words(await reasonOf(call(clients.jobs, 'explain', { endpointId: own, jobId }, key))),
      ],
      [
        'ListDecisions',
        async (endpointId) =>
          words(
            await reasonOf(call(clients.endpoints, 'listDecisions', { endpointId, pageSize: 0, beforeId: 0 }, key)),
          ),
      ],
    ];
    for (const [way, ask] of ways) {
      const answer = await ask(endpoint.id, theirs);
      t.match(
        answer,
        /NOT_FOUND|not found|no (endpoint|job)|does not exist|no such/i,
        `${way}: ${answer.slice(0, 120)}`,
      );
      t.equal(answer, await ask(nobody.endpoint, nobody.job), way);
    }
    t.equal((await get('GET', `/v2/${own}/explain`)).status, 200, 'its own are explained');
  },
);
