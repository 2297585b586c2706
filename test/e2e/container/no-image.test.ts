// test: alone, postgres, python, 10 s
/** An image that does not exist, on a machine with a real Podman: every explanation names it and says what to do. */
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Part of an explanation in the public API. */
interface Explained {
  summary: string;
  workers: { state: string; reason: string; change: string }[];
}

t.test('an image that this machine cannot have', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  const system = await startSystem(t, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket } });
  const id = await system.createEndpoint({
    command: [],
    imageName: 'localhost/nothing:1',
    ready: 0,
    fields: { workersMin: 0, workersMax: 1 },
  });
  const jobs = endpointJobs(system, id);
  const jobId = await jobs.run({});
  const get = async <Answer>(path: string): Promise<Answer> =>
    (await system.request('GET', `${jobs.base}${path}`)).json as Answer;
  const endpoint = await waitFor('the failed start', async () => {
    const explained = await get<Explained>('/explain');
    return explained.workers.some(({ state }) => state === 'CRASHED') && explained;
  });
  const reason =
    /The worker could not be started: this machine has no image localhost\/nothing:1: build it here, or push it to a registry and name that\.$/;
  t.match(endpoint.workers[0], {
    reason,
    change: /^fix the cause in its reason or last log lines, then update the endpoint or its template/,
  });
  const summary =
    /worker.* crashed \(.*this machine has no image localhost\/nothing:1: build it here.* To change that: fix the cause in its reason/;
  t.match(endpoint.summary, summary);
  t.match(await get(`/explain/${jobId}`), { state: 'IN_QUEUE', queuePosition: 1, summary });
  await waitFor(
    'its health',
    async () => (await call(system.clients.jobs, 'getHealth', { endpointId: id }, system.key)).workers!.unhealthy > 0,
  );
  t.match(await get('/health'), { jobs: { inQueue: 1, failed: 0 }, workers: { ready: 0, running: 0 } });
  const problems = await waitFor('it to be told as wrong', async () => {
    const told = await call(system.clients.problems, 'listProblems', { endpointId: id, limit: 0 }, system.key);
    return told.total > 0 && told.problems;
  });
  t.match(problems, [
    { kind: 'WORKERS_CRASHED', broken: true, text: /crashed or could not start; .* The endpoint's page says why\.$/ },
  ]);
});
