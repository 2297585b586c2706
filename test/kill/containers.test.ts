// test: alone, postgres, python, 50 s
/**
 * kill -9 of a worker, the agent, the container engine and core while jobs are in flight in containers: none is lost,
 * each has one outcome.
 */
import { join } from 'node:path';
import t from 'tap';
import { podmanSkip, startPodman } from '../helpers/engines/podman.ts';
import { makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { webhookReceiver } from '../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { PYTHONS, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Jobs at the beginning, and those that are added before each further kill, so that it meets jobs that run. */
const JOBS = 24;
const MORE = 12;
/** Duration of a job that is long enough to be found while it runs, in seconds. */
const LONG = 6;
const ENDED_MS_MAX = 120_000;

interface Output {
  number: number;
  mark: string;
}

t.setTimeout(600_000);

t.test('kills lose no job that runs in a container', { skip: podmanSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../handlers/mark.py'), 'localhost/mark:1');
  const slipway = await startProcesses(t, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket } });
  const [[agent], [core]] = [slipway.agents, slipway.cores];
  const receiver = await webhookReceiver(t);
  const fields = { workersMin: 2 };
  const id = await slipway.createEndpoint({
    command: [],
    imageName: 'localhost/mark:1',
    fields,
    workersMax: 2,
    retryLimit: 10,
  });
  const jobs = endpointJobs(slipway, id);
  const ids: string[] = [];
  const submit = async (count: number): Promise<void> => {
    const numbers = Array.from({ length: count }, (_, place) => ids.length + place);
    ids.push(
      ...(await Promise.all(
        numbers.map((number) =>
          jobs.run({ number, pause: number === LONG ? 4 : 0.2 }, { webhook: receiver.url(`job-${number}`) }),
        ),
      )),
    );
  };
  await submit(JOBS);
  const ended = async (): Promise<number> => {
    const [row] = await slipway.sql<
      { n: number }[]
    >`SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${id} AND finished_at IS NOT NULL`;
    return row!.n;
  };
  /** Adds jobs and waits until more have ended. */
  const goOn = async (what: string): Promise<void> => {
    await submit(MORE);
    const before = await ended();
    t.comment(`${before} have ended before ${what}`);
    await waitFor(`jobs to end before ${what}`, async () => (await ended()) > before + 3, ENDED_MS_MAX);
  };

  const worker = await waitFor(
    'the long job to run',
    async () => {
      const [row] = await slipway.sql<
        { worker_id: string }[]
      >`SELECT worker_id FROM job WHERE id = ${ids[LONG]!} AND state = 'IN_PROGRESS'`;
      return row?.worker_id;
    },
    ENDED_MS_MAX,
  );
  const name = (await podman.cli('ps', '--format={{.Names}}')).split('\n').find((found) => found.endsWith(worker));
  await podman.cli('kill', '--signal=KILL', name!);
  await goOn('the kill of the agent');
  await agent!.kill();
  await agent!.start();
  await goOn('the kill of the engine');
  await podman.killService();
  await podman.startService();
  await goOn('the kill of core');
  await core!.kill();
  await core!.start();

  await waitFor('all jobs to end', async () => (await ended()) === ids.length, ENDED_MS_MAX);
  const wrong: unknown[] = [];
  for (const [number, jobId] of ids.entries()) {
    const job = await jobs.look(jobId);
    const output = job.output as Output | undefined;
    if (job.status !== 'COMPLETED' || output?.number !== number) wrong.push(job);
    await slipway.sql`UPDATE webhook_delivery SET due_at = now()`;
    await receiver.received(`job-${number}`);
    for (const { body } of receiver.calls(`job-${number}`)) {
      if ((JSON.parse(body) as { output: Output }).output.mark !== output?.mark) wrong.push(body);
    }
  }
  t.same(wrong, [], 'all are COMPLETED, each with an output of its own, and no webhook told another');
  const { jobs: counts } = await jobs.counted({ inProgress: 0, inQueue: 0 });
  t.match(counts, { completed: ids.length, failed: 0 }, 'each has one outcome');
  const [row] = await slipway.sql<
    { n: number }[]
  >`SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${id} AND attempt > 1`;
  t.comment(`${row!.n} jobs ran more than once`);
  t.ok(row!.n > 0, 'a worker was killed while it had a job');
  // As Ctrl-C: nothing may stay with the test's Podman, nor with the firewall of the host, which the agent clears last.
  const gone = new Promise((resolve) => {
    agent!.onEndedByItself = resolve;
  });
  process.kill(agent!.pid, 'SIGINT');
  await waitFor('all containers to end', async () => (await podman.cli('ps', '--quiet')).trim() === '', 60_000);
  await gone;
});
