// test: postgres
/**
 * An endpoint of REST v2 that works: made with its command, seen at work, changed while it works, and deleted while it
 * works.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

interface Workers {
  endpointVersion: number;
  summary: Record<string, number>;
  workers: {
    id: string;
    status: string;
    isStale: boolean;
    version: number;
    dataCenterId: string | null;
    gpuTypeId: string | null;
  }[];
}

const system = await startSystem(t, {
  agents: 1,
  agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1,RO', SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' },
});
const { request } = system;
const { folder } = await scratch(t);
await request('POST', '/v2/account/secrets', { name: 'greeting', value: 'hello' });
const body = {
  name: 'works',
  type: 'QUEUE',
  image: '',
  cmd: jsHandler('all.js'),
  env: { GREETING: '{{ RUNPOD_SECRET_greeting }}' },
  gpu: { pools: ['AMPERE_24'] },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 0.5 },
  workers: { min: 1, max: 3, idleTimeout: 60 },
};
const {
  status,
  json: { id },
} = await request('POST', '/v2/serverless', body);
t.equal(status, 201);
const read = async (): Promise<Workers> =>
  (await request('GET', `/v2/serverless/${id}/workers`)).json as unknown as Workers;
const total = ({ summary: { total, ...counts } }: Workers): boolean =>
  total === Object.values(counts).reduce((sum, count) => sum + count, 0);

t.test('a job sees the environment with its secret, and workers report their state', async (t) => {
  const { json } = await request('POST', `/v2/${id}/runsync`, { input: { mode: 'env', names: ['GREETING'] } });
  t.match(json, { status: 'COMPLETED', output: { GREETING: 'hello' } });
  // On a busy machine the job waited longer than queueDelay, and there are two.
  const idle = await waitFor('only workers without a job', async () => {
    const workers = await read();
    return workers.workers.length > 0 && workers.summary['idle'] === workers.workers.length && workers;
  });
  t.ok(total(idle), 'the counts add up');
  t.equal(idle.endpointVersion, 0);
  const wanted = { status: 'IDLE', isStale: false, version: 0, dataCenterId: 'EU-RO-1', gpuTypeId: 'NVIDIA L4' };
  for (const worker of idle.workers) t.match(worker, wanted);
});

t.test('half a second of waiting starts another worker', async (t) => {
  const note = join(folder, 'first');
  for (let n = 0; n < 3; n += 1) await request('POST', `/v2/${id}/run`, { input: { mode: 'until', file: note } });
  const busy = await waitFor('two workers at work', async () => {
    const workers = await read();
    return workers.summary['running'] === 2 && workers;
  });
  t.ok(busy.workers.every(({ status: each }) => each === 'RUNNING' || each === 'THROTTLED'));
  const explained = await request('GET', `/v2/${id}/explain`);
  t.match(explained.text, /0\.5 s/, 'by the half second');
  const short = await waitFor('a worker that finds no place', async () => {
    const workers = await read();
    return workers.summary['throttled'] === 1 && workers;
  });
  t.ok(total(short), 'it counts');
  t.match(short.workers.at(-1), { status: 'THROTTLED', isStale: false, dataCenterId: null });
});

t.test('an endpoint deleted while it works: workers end and jobs are deleted without workersMax 0', async (t) => {
  const noted = join(folder, 'pid');
  const { json: job } = await request('POST', `/v2/${id}/run`, {
    input: { mode: 'until', file: join(folder, 'never'), note: noted },
  });
  const {
    json: { templateId },
  } = await request('GET', `/v1/endpoints/${id}`);
  t.equal((await request('DELETE', `/v1/endpoints/${id}`)).status, 400, 'v1 wants its counts at 0');
  t.equal((await request('DELETE', `/v2/serverless/${id}`)).status, 204);
  for (const path of [`/v2/serverless/${id}`, `/v2/${id}/status/${job.id}`, `/v1/templates/${String(templateId)}`]) {
    t.equal((await request('GET', path)).status, 404, path);
  }
  const pods = await waitFor('no worker', async () => {
    const { json } = await request('GET', '/v1/pods?includeWorkers=true');
    return (json as unknown as object[]).length === 0 && json;
  });
  t.same(pods, []);
  t.throws(() => readFileSync(noted), 'the job that waited was never begun');
});
