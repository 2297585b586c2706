// test: postgres, 50 s
/**
 * Releases on real parts, with a request each half second: a good release answers all of them, and so does the previous
 * version while a new one fails to start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { LB_WORKER, lbClient, lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const system = await startSystem(t, {
  cores: 2,
  coreEnv: { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' },
  agentEnv: { SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2,NVIDIA A40:46068x8' },
});
const { clients, key } = system;
const sql = postgres(system.database.url, { max: 1 });
t.teardown(() => sql.end());
const PERIOD_MS = 500;
/** Exits at its start if this variable is set. */
const BROKEN_BY_ENV = ['sh', '-c', '[ -z "$BROKEN" ] || exit 4; exec "$0" "$@"'];

const updateEndpoint = (id: string, fields: Partial<Endpoint>, updateMask: string[]) =>
  call(clients.endpoints, 'updateEndpoint', { endpoint: Endpoint.fromPartial({ ...fields, id }), updateMask }, key);
const updateTemplate = async (endpointId: string, fields: Partial<Template>, updateMask: string[]) => {
  const { endpoint } = await call(clients.endpoints, 'getEndpoint', { id: endpointId }, key);
  await call(
    clients.templates,
    'updateTemplate',
    { template: Template.fromPartial({ ...fields, id: endpoint!.templateId }), updateMask },
    key,
  );
};
const stateOf = async (endpointId: string): Promise<{ state: string; version: number; reason: string }> =>
  (
    await sql<
      { state: string; version: number; reason: string }[]
    >`SELECT state, version, reason FROM endpoint_rollout WHERE endpoint_id = ${endpointId}`
  )[0]!;
const rollout = (endpointId: string, state: string) =>
  waitFor(`the rollout to be ${state}`, async () => {
    const seen = await stateOf(endpointId);
    return seen.state === state && seen;
  });
const versions = async (endpointId: string): Promise<number[]> =>
  (await call(clients.machines, 'listWorkers', { endpointId }, key)).workers.map(({ version }) => version);
/** Returns two workers of this version, and no other. */
const only = (id: string, version: number) =>
  waitFor(`two of version ${version} alone`, async () => String(await versions(id)) === `${version},${version}`);
const releasesHeld = async (endpoint: string): Promise<number> =>
  valueOf(await readMetrics(system.metrics.core), 'slipway_core_releases_held', { endpoint });
const close = (id: string) => updateEndpoint(id, { workersMin: 0, workersMax: 0 }, ['workers_min', 'workers_max']);

/** Sends a request each half second until `during` is over and for some time more. Returns how each ended. */
async function underLoad(send: () => Promise<string>, during: () => Promise<unknown>): Promise<string[]> {
  const over = new AbortController();
  const sent: Promise<string>[] = [];
  const loop = (async () => {
    for (let more = 2; more > 0; more -= over.signal.aborted ? 1 : 0) {
      sent.push(send());
      await delay(PERIOD_MS);
    }
  })();
  await during().finally(() => over.abort());
  await loop;
  return Promise.all(sent);
}

const runsync = (endpointId: string) => async (): Promise<string> =>
  (await system.request('POST', `/v2/${endpointId}/runsync`, { input: { mode: 'env', names: ['GREETING'] } })).json
    .status;
const allDone = (t: Test, ended: readonly string[]): void => {
  t.ok(ended.length > 0);
  t.same([...new Set(ended)], ['COMPLETED'], `all ${ended.length} are answered`);
};

const BAD: [
  what: string,
  release: (endpointId: string) => Promise<unknown>,
  mend: (endpointId: string) => Promise<unknown>,
][] = [
  [
    'a command that exits',
    (id) => updateTemplate(id, { startCommand: ['sh', '-c', 'exit 3'] }, ['start_command']),
    (id) => updateTemplate(id, { startCommand: [...BROKEN_BY_ENV, ...jsHandler('all.js')] }, ['start_command']),
  ],
  [
    'an environment that ends it',
    (id) => updateEndpoint(id, { env: { BROKEN: 'yes' } }, ['env']),
    (id) => updateEndpoint(id, { env: {} }, ['env']),
  ],
];

for (const [what, release, mend] of BAD) {
  t.test(`${what}: the previous version answers all, the release is held, and the next one serves`, async (t) => {
    const command = [...BROKEN_BY_ENV, ...jsHandler('all.js')];
    const id = await system.createEndpoint({
      command,
      fields: { workersMin: 2, gpuIds: ['NVIDIA A40'] },
      workersMax: 2,
    });
    await rollout(id, 'COMPLETE');
    allDone(
      t,
      await underLoad(runsync(id), async () => {
        await release(id);
        t.match(await rollout(id, 'HELD'), { version: 1, reason: /exit(ed with)? code/ });
        const text = /ersion 1 does not start: .*exit(ed with)? code.*; version 0 keeps serving/;
        const { endpoint } = await call(clients.endpoints, 'getEndpoint', { id }, key);
        t.match(endpoint, { version: 1, servingVersion: 0, rolloutState: 'HELD', rolloutReason: text });
        t.match((await call(clients.endpoints, 'explain', { endpointId: id }, key)).explanation!.summary, text);
        t.match(
          (await call(clients.endpoints, 'listReleases', { endpointId: id, pageSize: 2, beforeId: 0 }, key)).releases,
          [
            { version: 1, outcome: 'HELD', outcomeReason: /exit(ed with)? code/ },
            { version: 0, outcome: 'COMPLETE', outcomeReason: '' },
          ],
        );
        const { problems } = await waitFor('it to be told as wrong', async () => {
          const told = await call(clients.problems, 'listProblems', { endpointId: id, limit: 0 }, key);
          return told.problems.some(({ kind }) => kind === 'RELEASE_HELD') && told;
        });
        t.match(
          problems.find(({ kind }) => kind === 'RELEASE_HELD'),
          { broken: true, text },
        );
        await waitFor('the metric to count it', async () => (await releasesHeld(id)) === 1);
      }),
    );
    await only(id, 0);
    allDone(
      t,
      await underLoad(runsync(id), async () => {
        await mend(id);
        await rollout(id, 'COMPLETE');
        await waitFor('the metric to forget it', async () => (await releasesHeld(id)) === 0);
      }),
    );
    await only(id, 2);
    await close(id);
  });
}

t.test('a rollback returns to the previous version without a gap, and the next release serves', async (t) => {
  const fields = { workersMin: 2, gpuIds: ['NVIDIA A40'] };
  const id = await system.createEndpoint({
    command: jsHandler('all.js'),
    env: { GREETING: 'first' },
    fields,
    workersMax: 2,
  });
  await rollout(id, 'COMPLETE');
  await t.rejects(
    call(clients.endpoints, 'rollBackEndpoint', { id }, key),
    /there is no good version to return to; no other version is kept/,
  );
  await updateTemplate(id, { env: { GREETING: 'second' } }, ['env']);
  await only(id, 1);
  await rollout(id, 'COMPLETE');
  await t.rejects(
    call(clients.endpoints, 'rollBackEndpoint', { id, version: 7 }, key),
    /version is 7, but must be .*these are kept: 0/,
  );
  allDone(
    t,
    await underLoad(runsync(id), async () => {
      const { endpoint } = await call(clients.endpoints, 'rollBackEndpoint', { id }, key);
      t.match(endpoint, {
        version: 1,
        servingVersion: 0,
        rolloutState: 'ROLLED_BACK',
        rolloutReason: /version 0 serves until the next release/,
      });
      await only(id, 0);
    }),
  );
  const jobs = endpointJobs(system, id);
  t.match(await jobs.reached(await jobs.run({ mode: 'env', names: ['GREETING'] }), 'COMPLETED'), {
    output: { GREETING: 'first' },
  });
  await t.rejects(call(clients.endpoints, 'rollBackEndpoint', { id }, key), /it was rolled back to version 0 already/);
  await call(clients.endpoints, 'restartEndpoint', { id }, key);
  await only(id, 2);
  t.match(await jobs.reached(await jobs.run({ mode: 'env', names: ['GREETING'] }), 'COMPLETED'), {
    output: { GREETING: 'second' },
  });
  await close(id);
});

t.test('a restart at once holds no release', async (t) => {
  const command = [...BROKEN_BY_ENV, ...jsHandler('all.js')];
  const id = await system.createEndpoint({ command, fields: { workersMin: 1, gpuIds: ['NVIDIA A40'] }, workersMax: 1 });
  await rollout(id, 'COMPLETE');
  await updateTemplate(id, { env: { BROKEN: 'yes' } }, ['env']);
  await rollout(id, 'HELD');
  await call(clients.endpoints, 'restartEndpoint', { id, atOnce: true }, key);
  await waitFor('those of before to go', async () => String(await versions(id)) === '2');
  t.match(await stateOf(id), { state: 'REPLACING', version: 2 });
  await close(id);
});

t.test('while a release is held, a lost worker of the previous version is replaced', async (t) => {
  const command = [...BROKEN_BY_ENV, ...jsHandler('all.js')];
  const id = await system.createEndpoint({
    command,
    env: { GREETING: 'old' },
    fields: { workersMin: 1, gpuIds: ['NVIDIA A40'] },
    workersMax: 1,
  });
  await rollout(id, 'COMPLETE');
  await updateTemplate(id, { env: { GREETING: 'new', BROKEN: 'yes' } }, ['env']);
  await rollout(id, 'HELD');
  await updateEndpoint(id, { workersMin: 0, workersMax: 0 }, ['workers_min', 'workers_max']);
  await waitFor('no worker', async () => (await versions(id)).length === 0);
  await updateEndpoint(id, { workersMax: 1 }, ['workers_max']);
  const jobs = endpointJobs(system, id);
  t.match(await jobs.reached(await jobs.run({ mode: 'env', names: ['GREETING'] }), 'COMPLETED', 30_000), {
    output: { GREETING: 'old' },
  });
  t.same(await versions(id), [0]);
  await close(id);
});

t.test('with every GPU in use, workers are replaced one by one, and all requests are answered', async (t) => {
  const id = await system.createEndpoint({
    command: jsHandler('all.js'),
    fields: { workersMin: 2, gpuIds: ['NVIDIA L4'] },
    workersMax: 2,
  });
  await rollout(id, 'COMPLETE');
  allDone(
    t,
    await underLoad(runsync(id), async () => {
      await updateEndpoint(id, { env: { GREETING: 'new' } }, ['env']);
      await rollout(id, 'COMPLETE');
    }),
  );
  await only(id, 1);
  allDone(
    t,
    await underLoad(runsync(id), async () => {
      await updateTemplate(id, { startCommand: ['sh', '-c', 'exit 3'] }, ['start_command']);
      await rollout(id, 'HELD');
      await only(id, 1);
    }),
  );
  await close(id);
});

t.test('load balancing: a health path that answers 404, and a server that starts slowly', async (t) => {
  const { at } = lbClient(system);
  const id = await lbEndpoint(system, { workersMin: 2, workersMax: 2 });
  await rollout(id, 'COMPLETE');
  const get = async (): Promise<string> => String((await at(id, '/x')).status);
  const answered = (ended: readonly string[]): void => {
    t.same([...new Set(ended)], ['200'], `all ${ended.length} are answered`);
  };
  answered(
    await underLoad(get, async () => {
      await updateTemplate(id, { startCommand: [process.execPath, '-e', SICK] }, ['start_command']);
      await waitFor('one of the new version', async () => (await versions(id)).includes(1));
      await delay(3 * PERIOD_MS);
    }),
  );
  t.same((await versions(id)).filter((version) => version === 0).length, 2);
  answered(
    await underLoad(get, async () => {
      await updateTemplate(id, { startCommand: ['sh', '-c', 'sleep 1; exec "$0" "$@"', ...LB_WORKER] }, [
        'start_command',
      ]);
      await rollout(id, 'COMPLETE');
    }),
  );
  await only(id, 2);
  await close(id);
});

const SICK =
  'require("node:http").createServer((request, reply) => { reply.statusCode = 404; reply.end(); ' +
  '}).listen(process.env.PORT, "127.0.0.1")';

t.test('an endpoint without workers: a version that does not start is detected before any job', async (t) => {
  const command = [...BROKEN_BY_ENV, ...jsHandler('all.js')];
  const id = await system.createEndpoint({
    command,
    fields: { workersMin: 0, idleTimeoutSeconds: 1, gpuIds: ['NVIDIA A40'] },
    workersMax: 1,
  });
  const jobs = endpointJobs(system, id);
  await jobs.reached(await jobs.run({ mode: 'env', names: [] }), 'COMPLETED', 30_000);
  await rollout(id, 'COMPLETE');
  await waitFor('no worker', async () => (await versions(id)).length === 0);
  await updateEndpoint(id, { env: { BROKEN: 'yes' } }, ['env']);
  await rollout(id, 'HELD');
  await jobs.reached(await jobs.run({ mode: 'env', names: [] }), 'COMPLETED', 30_000);
  await updateEndpoint(id, { env: {} }, ['env']);
  t.match(await rollout(id, 'COMPLETE'), { version: 2 });
  await waitFor('no worker again', async () => (await versions(id)).length === 0);
  await close(id);
});
