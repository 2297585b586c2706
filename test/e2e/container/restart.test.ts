// test: alone, postgres, python, 220 s
/**
 * Containers and their attempts outlive their agent, on a real Podman: killed, stopped for a restart, away for too
 * long, gone for good.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Test } from 'tap';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE, makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { slowInventory } from '../../helpers/engines/slow-inventory.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { LONG_LEASE } from '../../helpers/time/long-lease.ts';
import { PATIENCE_MS, waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(800_000);

/** Pause between two looks at the engine, each of which starts a program, or at core. */
const PAUSE_MS = 200;

t.test('an agent and its containers', { skip: podmanSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../../handlers/ticks.py'), 'localhost/ticks:1');
  const slow = await slowInventory(t, podman.socket);
  const slipway = await startProcesses(t, {
    env: LONG_LEASE,
    agentEnv: { SLIPWAY_AGENT_CONTAINERS: slow.socket, PATH: slow.path },
  });
  const [agent] = slipway.agents;
  const id = await slipway.createEndpoint({ command: [], imageName: 'localhost/ticks:1', workersMax: 1 });
  const jobs = endpointJobs(slipway, id);

  const names = async (): Promise<string[]> =>
    (await podman.cli('ps', '--format={{.Names}}')).split('\n').filter((name) => name !== '');
  const containers = async (): Promise<string[]> =>
    (await podman.cli('ps', '--no-trunc', '--format={{.ID}}')).split('\n').filter((name) => name !== '');
  const attemptOf = async (jobId: string): Promise<number> => {
    const [row] = await slipway.sql<{ attempt: number }[]>`SELECT attempt FROM job WHERE id = ${jobId}`;
    return row!.attempt;
  };
  /** Ticks that core has stored of the job. */
  const ticksOf = async (jobId: string): Promise<number> => {
    const [row] = await slipway.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM job_chunk WHERE job_id = ${jobId}`;
    return row!.n;
  };
  const ticking = async (count: number, pause = 0.2): Promise<string> => {
    const jobId = await jobs.run({ count, pause });
    await waitFor('it to tick', async () => (await ticksOf(jobId)) >= 5, PATIENCE_MS, PAUSE_MS);
    return jobId;
  };
  const reachAttempt = (jobId: string, attempt: number) =>
    waitFor(`attempt ${attempt}`, async () => (await attemptOf(jobId)) === attempt, PATIENCE_MS, PAUSE_MS);
  /** Ends the agent as Ctrl-C does: it ends its containers first. */
  const interrupt = async (): Promise<void> => {
    const gone = new Promise((resolve) => {
      agent!.onEndedByItself = resolve;
    });
    process.kill(agent!.pid, 'SIGINT');
    await gone;
  };
  const checkTicks = async (t: Test, jobId: string, count: number, mayMiss = 0): Promise<void> => {
    const all = Array.from({ length: count }, (_, tick) => ({ tick }));
    const { outputs } = await jobs.drain(jobId);
    const { output } = await jobs.look(jobId);
    t.same(output, all, 'its output is complete');
    // The value that was in transit when the agent was killed is lost: the SDK does not send it again.
    const missing = all.filter(({ tick }) => !outputs.some((output) => (output as { tick: number }).tick === tick));
    t.ok(missing.length <= mayMiss, `${missing.length} of its stream are missing`);
    t.same(
      outputs,
      all.filter((value) => !missing.includes(value)),
      'nothing came twice, all in order',
    );
  };

  await t.test('kill -9: same container, same attempt; unknown containers are removed', async (t) => {
    const jobId = await ticking(40);
    const before = await containers();
    const [row] = await slipway.sql<{ id: string }[]>`SELECT id FROM machine`;
    const labels = [`--label=slipway.machine=${row!.id}`, '--label=slipway.unit=stranger000000'];
    await podman.cli('run', '--detach', '--name=stranger', ...labels, BASE_IMAGE, '/bin/sleep', '1000');
    await agent!.kill();
    await agent!.start();
    t.notOk((await names()).includes('stranger'));
    t.same(await containers(), before);
    await checkTicks(t, jobId, 40, 1);
    t.equal(await attemptOf(jobId), 1);
    t.same(await containers(), before);
  });

  await t.test('kill -9, while driver and engine do not answer within the lease: the same, with a pod', async (t) => {
    const pods = podCalls(slipway.clients, slipway.key);
    const startCommand = ['/bin/sh', '-c', 'exec sleep 1000'];
    const pod = await pods.create({ computeType: 'CPU', imageName: BASE_IMAGE, startCommand });
    await pods.reach(pod.id, 'RUNNING');
    const jobId = await ticking(50, 0.7);
    const stateTime = async (): Promise<string> =>
      (await slipway.sql<{ at: string }[]>`SELECT state_changed_at::text AS at FROM pod WHERE id = ${pod.id}`)[0]!.at;
    const since = await stateTime();
    const before = await containers();
    await agent!.kill();
    const [{ over }] = await slipway.sql<[{ over: Date }]>`SELECT lease_expires_at AS over FROM machine`;
    slow.stall();
    const starting = agent!.start();
    await waitFor('the lease of the run before to be over', async () => {
      const [row] = await slipway.sql<{ isOver: boolean }[]>`SELECT now() > ${over} + interval '1 s' AS "isOver"`;
      return row!.isOver;
    });
    slow.answer();
    await starting;
    t.same(await containers(), before);
    await checkTicks(t, jobId, 50, 1);
    t.equal(await attemptOf(jobId), 1);
    t.equal(await stateTime(), since, 'the pod was RUNNING all the time');
    await pods.remove(pod.id);
    await waitFor('its end', async () => (await containers()).length < before.length, PATIENCE_MS, PAUSE_MS);
  });

  await t.test('SIGTERM, as for an upgrade: the same', async (t) => {
    const jobId = await ticking(40);
    const before = await containers();
    await agent!.stop();
    t.same(await containers(), before, 'it runs without its agent');
    await agent!.start();
    await checkTicks(t, jobId, 40);
    t.equal(await attemptOf(jobId), 1);
    t.same(await containers(), before);
  });

  await t.test('a blocked worker, silent since its take, loses nothing that it reports afterwards', async (t) => {
    const jobId = await jobs.run({ count: 2, pause: 2 });
    // Core gives it out before the worker has it: an agent that stops in between gives it back, and then it runs
    // again.
    const [name] = await names();
    await waitFor('the worker to have it', async () => (await podman.cli('logs', name!)).includes(jobId));
    await agent!.stop();
    await agent!.start();
    await checkTicks(t, jobId, 2);
    t.equal(await attemptOf(jobId), 1);
  });

  await t.test('a worker that ended without its agent: its job runs again, and its end is reported', async (t) => {
    const jobId = await ticking(60);
    const [previous] = await containers();
    const workerId = (await names())[0]!.split('-').at(-1)!;
    await agent!.kill();
    await podman.cli('kill', previous!);
    await agent!.start();
    await reachAttempt(jobId, 2);
    const [row] = await slipway.sql<{ reason: string }[]>`SELECT reason FROM worker WHERE id = ${workerId}`;
    t.match(row!.reason, /SIGKILL/);
    await jobs.cancel(jobId);
  });

  await t.test('a pod keeps running; changes made meanwhile are applied', async (t) => {
    const pods = podCalls(slipway.clients, slipway.key);
    const pod = await pods.create({
      computeType: 'CPU',
      imageName: BASE_IMAGE,
      startCommand: ['/bin/sh', '-c', 'exec sleep 1000'],
    });
    await pods.reach(pod.id, 'RUNNING');
    const idOf = async (): Promise<string> => (await podman.cli('ps', '--quiet', `--filter=name=${pod.id}`)).trim();
    const first = await waitFor('its container', idOf);
    await agent!.kill();
    await agent!.start();
    await waitFor(
      'core to see its machine',
      async () => (await slipway.sql`SELECT FROM machine WHERE session_id IS NOT NULL`).length === 1,
    );
    await pods.reach(pod.id, 'RUNNING');
    t.equal(await idOf(), first, 'the same container');
    await agent!.kill();
    await pods.act('restartPod', pod.id);
    await agent!.start();
    await waitFor('another one', async () => ![first, ''].includes(await idOf()), PATIENCE_MS, PAUSE_MS);
    await pods.reach(pod.id, 'RUNNING');
    await pods.remove(pod.id);
    await waitFor('its end', async () => (await idOf()) === '', PATIENCE_MS, PAUSE_MS);
  });

  await t.test('a frozen worker stays frozen, and resumes for the next job', async (t) => {
    const fields = { flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1 };
    const frozen = endpointJobs(
      slipway,
      await slipway.createEndpoint({ command: [], imageName: 'localhost/ticks:1', fields, ready: 0, workersMax: 1 }),
    );
    const paused = async (): Promise<string> => (await podman.cli('ps', '--quiet', '--filter=status=paused')).trim();
    await frozen.runSync({ count: 1, pause: 0 });
    const first = await waitFor('it to stand still', paused, PATIENCE_MS, PAUSE_MS);
    await agent!.kill();
    await agent!.start();
    t.equal(await waitFor('it to stand still again', paused, PATIENCE_MS, PAUSE_MS), first);
    t.match(await frozen.runSync({ count: 2, pause: 0 }), { status: 'COMPLETED' });
    t.equal(
      await waitFor('it to stand still after its job', paused, PATIENCE_MS, PAUSE_MS),
      first,
      'the same container',
    );
    const none = await slipway.request('PATCH', `/v1/endpoints/${frozen.id}`, { workersMax: 0 });
    t.equal(none.status, 200);
    await waitFor(
      'its end',
      async () => (await paused()) === '' && (await containers()).length === 1,
      PATIENCE_MS,
      PAUSE_MS,
    );
  });

  await t.test(
    'another program has taken its address: the job runs again, in a worker that reaches the agent',
    async (t) => {
      const jobId = await ticking(40);
      const before = await containers();
      const environment = await podman.cli('inspect', before[0]!, '--format={{json .Config.Env}}');
      const [, host, port] = /http:\/\/([0-9.]+):(\d+)\//.exec(environment)!;
      await agent!.kill();
      const thief = createServer();
      await new Promise<void>((resolve, reject) => {
        thief.once('error', reject).listen({ host, port: Number(port) }, resolve);
      });
      t.teardown(() => thief.close());
      await agent!.start();
      t.notOk((await containers()).includes(before[0]!), 'the former one has ended');
      // A reader that starts earlier gets what the first attempt left, followed by all of the second attempt's.
      await reachAttempt(jobId, 2);
      await checkTicks(t, jobId, 40);
      t.equal(await attemptOf(jobId), 2);
    },
  );

  await t.test('its agent stays away beyond the lease: it ends before core assigns the job again', async (t) => {
    const jobId = await ticking(60, 0.5);
    const pid = (await podman.cli('inspect', (await containers())[0]!, '--format={{.State.Pid}}')).trim();
    await agent!.kill();
    // By its own clock and without a word of core: how soon a busy engine ends a container must not matter here.
    await slipway.sql`UPDATE machine SET lease_expires_at = lease_expires_at + interval '1 minute'`;
    await waitFor('its end', () => !existsSync(`/proc/${pid}`), PATIENCE_MS, PAUSE_MS);
    const [row] = await slipway.sql<
      { left: number }[]
    >`SELECT extract(epoch FROM lease_expires_at - clock_timestamp())::float8 - 60 AS left FROM machine`;
    t.comment(`the lease still lasted ${row!.left} s`);
    t.ok(row!.left > -60, 'core has not given it away');
    t.equal(await attemptOf(jobId), 1);
    await agent!.start();
    await reachAttempt(jobId, 2);
    await jobs.cancel(jobId);
  });

  await t.test('Ctrl-C leaves none', async (t) => {
    const jobId = await ticking(40);
    await interrupt();
    t.same(await containers(), []);
    await agent!.start();
    await reachAttempt(jobId, 2);
    await checkTicks(t, jobId, 40);
    t.equal(await attemptOf(jobId), 2);
  });

  // Before the engine goes, as nothing may stay with it.
  await interrupt();
});
