/** GET /explain, `slipway why` and `slipway decisions` on a running system; a load-balancing endpoint's path stays its workers'. */
import t from 'tap';
import { commandLine } from '../facades/cli/command-line.ts';
import { endpointJobs } from '../helpers/endpoint-jobs.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { call } from '../helpers/grpc-clients.ts';
import { startSystem } from '../helpers/system.ts';
import { waitFor } from '../helpers/wait-for.ts';

t.setTimeout(120_000);

const system = await startSystem(t);
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
const endpoint = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 }, workersMax: 0 }));
const get = (path: string) => system.request('GET', `/v2/${endpoint.id}${path}`);

t.test('an endpoint and a job that waits there, over HTTP and on the command line', async (t) => {
  const { id } = (await system.request('POST', `/v2/${endpoint.id}/run`, { input: {} })).json as unknown as { id: string };
  const WAITS = /jobs? wait.*workersMax is 0: raise it/;
  const explained = await waitFor('the queue to be seen', async () => {
    const { json } = await get('/explain');
    return (json as unknown as { queued: number }).queued > 0 && json;
  });
  t.match(explained, { endpointId: endpoint.id, summary: WAITS, queued: 1, workers: [], machines: [{ count: 1, fits: true }], lastDecision: { target: 0 } });
  t.match((await get(`/explain/${id}`)).json, { jobId: id, state: 'IN_QUEUE', queuePosition: 1, summary: WAITS, endpoint: { queued: 1 } });
  t.match(await get('/explain/none'), { status: 404 });
  t.match(await system.request('POST', `/v2/${endpoint.id}/explain`, {}), { status: 405 }, 'it is asked by GET alone');
  t.match((await cli.run('why', endpoint.id)).stdout, WAITS);
  t.match((await cli.run('why', id, '--endpoint', endpoint.id)).stdout, /^It waits in place 1\./);
  t.match(JSON.parse((await cli.run('why', id, '-e', endpoint.id, '--json')).stdout), { queuePosition: 1 });
  const crashing = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 } }));
  const lost = (await system.request('POST', `/v2/${crashing.id}/runsync`, { input: { mode: 'exit', code: 3 } })).json as unknown as { id: string };
  await waitFor('how its workers ended', async () => {
    const { explanation } = await call(system.clients.jobs, 'explain', { endpointId: crashing.id, jobId: lost.id }, system.key);
    return explanation!.attempts.length === 3 && explanation!.attempts.every(({ exitCode }) => exitCode === 3);
  });
  const { json: history } = await system.request('GET', `/v2/${crashing.id}/explain/${lost.id}`);
  const CAUSE = /ended with exit code 3 while it held the job/;
  t.match(history, { state: 'FAILED', lostAttempts: 2, attempts: [3, 2, 1].map((attempt) => ({ attempt, workerAlive: false, lostAt: /Z$/, cause: CAUSE })) });
  const { stdout } = await cli.run('why', lost.id, '--endpoint', crashing.id);
  t.match(stdout, /attempt 1 came to nothing .* ago: .*exit code 3 while[^]*Its worker .* exit code 3/);
  t.match((await cli.run('decisions', endpoint.id)).stdout, /there|no job waits|workersMax/);
  const asked = await cli.run('decisions', endpoint.id, '--what-if', 'workersMax=5,scalerType=slo,idleTimeout=2');
  t.match(asked, { code: 0, stdout: /of \d+ recorded decisions would have come to another number of workers/ });
  t.match(await cli.run('decisions', endpoint.id, '--what-if', 'color=red'), { code: 2, stderr: /workersMin, workersMax/ });
});
