// test: postgres, 10 s
/**
 * The logs of a facade, a core, an agent and a worker in processes of their own: who has the id of a request finds all
 * that was done for it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { receiveTraces } from '../../helpers/grpc/otlp.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

type Line = Record<string, unknown> & { msg: string };
interface WorkerLine {
  line: string;
  attempt: number;
  workerId: string;
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SECRET = 'never-in-a-log-4711';
const collector = await receiveTraces(t);
const debug = { SLIPWAY_LOG_LEVEL: 'debug', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
const system = await startProcesses(t, { env: debug, agentEnv: debug });
const endpointId = await system.createEndpoint({
  command: jsHandler('talker.js'),
  env: { TOKEN: SECRET },
  workersMax: 1,
});
const jobs = endpointJobs(system, endpointId);
const textOf = (process: string): string => readFileSync(join(system.folder, `${process}.log`), 'utf8');
const linesOf = (process: string): Line[] =>
  textOf(process)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
/** Waits for a process's log line with this message and these ids. */
const line = (process: string, msg: string, ids: Record<string, unknown>): Promise<Line> =>
  waitFor(`"${msg}" of ${process}`, () =>
    linesOf(process).find(
      (found) => found.msg === msg && Object.entries(ids).every(([name, id]) => found[name] === id),
    ),
  );

t.test('log lines lead from a request to its job, attempt, worker and output', async (t) => {
  const hooks = await webhookReceiver(t);
  const requestId = 'from-a-client:1';
  const made = await jobs.run(
    { words: ['aye'] },
    { webhook: hooks.url(`${SECRET}/told`) },
    { 'x-request-id': requestId, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` },
  );
  await jobs.settled(made);
  await hooks.received('told', 1);

  const { jobId } = await line('facade', 'request', { requestId, trace_id: TRACE });
  t.equal(jobId, made, 'the line of the submission names the job');
  const ids = { endpointId, jobId };
  const { attempt, workerId, machineId } = await line('core-1', 'outcome recorded', { ...ids, trace_id: TRACE });
  t.match({ attempt, workerId, machineId }, { attempt: 1, workerId: /^\w{14}$/, machineId: /./ });
  t.match(await line('core-1', 'webhook delivered', ids), { webhookId: new RegExp(`^${made}\\.\\d+$`) });
  await line('agent-1', 'attempt ended with a result', { ...ids, attempt, workerId });
  await line('agent-1', 'worker started', { endpointId, workerId });
  const { lines } = await waitFor("the worker's own lines", async () => {
    const log = (await system.request('GET', `/v2/${endpointId}/logs/${made}`)).json as unknown as {
      lines: WorkerLine[];
      over: boolean;
    };
    return log.over && log;
  });
  t.match(lines, [{ line: 'saying aye', attempt, workerId }]);
});

t.test('each request about a job logs its id, /runsync included, also when the client disconnects', async (t) => {
  const answered = await jobs.runSync({ words: [] });
  t.match(await line('facade', 'request', { jobId: answered.id }), { endpointId, path: `/v2/${endpointId}/runsync` });
  await jobs.look(answered.id);
  t.match(await line('facade', 'request', { jobId: answered.id, method: 'GET' }), { endpointId, requestId: /./ });

  const leaving = new AbortController();
  const requestId = 'left';
  const asked = fetch(`${system.url}/v2/${endpointId}/runsync`, {
    method: 'POST',
    signal: leaving.signal,
    body: JSON.stringify({ input: { words: ['x'], gate: join(system.folder, 'never') } }),
    headers: { authorization: `Bearer ${system.key}`, 'x-request-id': requestId },
  });
  const left = t.rejects(asked);
  await waitFor('its job to run', async () => (await jobs.health()).jobs.inProgress === 1);
  leaving.abort();
  await left;
  const { jobId } = await line('facade', 'the client of a job has left, the job continues', { requestId, endpointId });
  t.match(await jobs.cancel(jobId as string), { status: 'CANCELLED' });
  t.match(await line('agent-1', 'attempt ended without a result', { jobId }), {
    endpointId,
    attempt: 1,
    workerId: /^\w{14}$/,
  });
});

t.test('no line holds a secret', async (t) => {
  for (const process of ['facade', 'core-1', 'agent-1']) {
    for (const secret of [SECRET, system.key, system.rootKey]) t.notOk(textOf(process).includes(secret), process);
  }
});
