// test: alone, postgres, python, 120 s
/**
 * All of Slipway with FlashBoot endpoints of both Python SDKs and of an image that share one card, on a driver's
 * stand-in: random jobs, two endpoints that compete, a pod, and kill -9 of each process at each step of a move. For a
 * longer run with a full budget, both of: SLIPWAY_TEST_IN_FLIGHT=500 (jobs; ten endpoints) and SLIPWAY_TEST_KILLS=1.
 */
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import { offerCards } from '../helpers/cuda/cuda-device.ts';
import type { DriverCall } from '../helpers/cuda/stand-in.ts';
import { cudaSkip, startCuda } from '../helpers/cuda/stand-in.ts';
import { podmanSkip, startPodman } from '../helpers/engines/podman.ts';
import { makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { podCalls } from '../helpers/pods/pod-calls.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { cardJobs } from './card-jobs.ts';
import { createSharers } from './share-card.ts';

t.setTimeout(1_800_000);

const JOBS = Number(process.env.SLIPWAY_TEST_IN_FLIGHT ?? 12);
const isLong = process.env.SLIPWAY_TEST_KILLS !== undefined;
const ENDPOINTS = isLong ? Math.min(Math.max(3, Math.floor(JOBS / 50)), 10) : 3;
const IMAGE = 'localhost/one-card:1';
const CARD = 'GPU-0000-one';
const [CARD_MIB, WORKER_MIB] = [700, 512];

/** A move is under way at each of these calls. */
const STEPS: DriverCall[] = ['lock', 'checkpoint', 'restore', 'unlock'];
const VICTIMS = ['agent', 'core', 'worker'] as const;
/** How long the killed-at call takes: a core that is away comes back meanwhile. */
const LATE_MS = { core: 3_000, agent: 1_000, worker: 1_000 } as const;

async function startCard(t: Test) {
  const cuda = await startCuda(t, { cards: { [CARD]: CARD_MIB } });
  await cuda.pace(20, 10, 5);
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../handlers/gpu.py'), IMAGE);
  const agentEnv: Record<string, string> = {
    ...cuda.env,
    SLIPWAY_STANDBY_MEMORY_GB: '8',
    SLIPWAY_AGENT_CONTAINERS: podman.socket,
    SLIPWAY_CDI_KIND: offerCards(t, cuda, [CARD]),
  };
  const slipway = await startProcesses(t, { agentEnv });
  const env = { CUDA_STAND_IN: cuda.library, GPU_MIB: String(WORKER_MIB) };
  const place = (python: 'new' | 'old') => ({ command: pythonHandler(python, 'gpu.py'), env });
  const half = Math.ceil((ENDPOINTS - 1) / 2);
  // The last one runs in a container. The process ids of the others are those of this host.
  const sharers = [
    ...(await createSharers(slipway, half, place('new'))),
    ...(await createSharers(slipway, ENDPOINTS - 1 - half, place('old'))),
    ...(await createSharers(slipway, 1, { imageName: IMAGE, env })),
  ];
  return {
    cuda,
    agentEnv,
    slipway,
    sharers,
    jobs: await cardJobs(
      slipway,
      sharers.map((one) => one.jobs),
      cuda.folder,
    ),
  };
}

/** Returns how many jobs of each endpoint finished in its turns, as far as the other had as many turns. */
function inWholeTurns(order: readonly number[]): [number, number] {
  const turns: number[][] = [];
  for (const endpoint of order) {
    if (turns.at(-1)?.[0] === endpoint) turns.at(-1)!.push(endpoint);
    else turns.push([endpoint]);
  }
  const jobs = turns.slice(0, turns.length - (turns.length % 2)).flat();
  const ofFirst = jobs.filter((endpoint) => endpoint === 0).length;
  return [ofFirst, jobs.length - ofFirst];
}

t.test('endpoints share one card', { skip: podmanSkip || cudaSkip || skipWithoutPython('new', 'old') }, async (t) => {
  const { cuda, agentEnv, slipway, sharers, jobs } = await startCard(t);
  const { sql } = slipway;
  const [agent] = slipway.agents;
  const [core] = slipway.cores;
  const random = seededRandom();
  const any = (): number => random.below(ENDPOINTS);
  const workers = () => sql<{ endpoint: string; state: string; reached: string; ended: boolean; bytes: number }[]>`
    SELECT endpoint_id AS endpoint, state, standby_reached AS reached, ended_at IS NOT NULL AS ended,
      gpu_memory_bytes::float8 AS bytes
    FROM worker ORDER BY created_at`;

  await t.test('random jobs: each runs once, and no endpoint starts a second worker', async (t) => {
    const first: number[] = [];
    for (const endpoint of sharers.keys()) first.push((await jobs.run(endpoint)).pid);
    const done = await jobs.runMany(JOBS, { inFlight: ENDPOINTS, next: any });
    t.strictSame(
      done.filter(({ endpoint, pid, mib }) => pid !== first[endpoint] || mib !== WORKER_MIB),
      [],
      'each ran in the process of its endpoint, which has all of its GPU memory',
    );
    const executions = await jobs.executions();
    t.equal(executions.size, JOBS + ENDPOINTS);
    t.ok(
      [...executions.values()].every((count) => count === 1),
      'once',
    );
    t.equal((await workers()).length, ENDPOINTS, 'no cold start after the first');
  });

  await t.test('two endpoints that always have jobs share the card', async (t) => {
    const order: number[] = [];
    const total = isLong ? 240 : 30;
    let left = total;
    const clients = [0, 0, 0, 1, 1, 1].map(async (endpoint) => {
      while (left > 0) {
        left -= 1;
        await jobs.run(endpoint, { pause: 0.2 });
        order.push(endpoint);
      }
    });
    await Promise.all(clients);
    t.comment(`finished jobs, by endpoint: ${order.join('')}`);
    const counts = inWholeTurns(order);
    const counted = counts[0] + counts[1];
    t.ok(Math.min(...counts) >= counted / 3, `each has a third of ${counted}: ${counts.join(' and ')}`);
    t.ok(counted >= total / 3);
    t.equal((await workers()).length, ENDPOINTS, 'and no further worker started');
  });

  await t.test('a pod takes the card; a job waits for it, and is served after it', async (t) => {
    const pods = podCalls(slipway.clients, slipway.key);
    await jobs.run(0);
    await waitFor('its worker to be on standby', async () =>
      (await workers()).every(({ state }) => state === 'FROZEN'),
    );
    const { id } = await pods.create({
      name: 'takes-the-card',
      startCommand: ['sleep', '3600'],
      gpuCount: 1,
      computeType: 'GPU',
    });
    await pods.reach(id, 'RUNNING');
    t.equal(await cuda.used(CARD), 0, 'nobody else is on the card');
    const waiting = await jobs.submit(1);
    await pods.remove(id);
    await jobs.finished(1, waiting);
    t.equal((await workers()).length, ENDPOINTS);
  });

  await t.test('kill -9 of each process in the middle of each move', async (t) => {
    const left = VICTIMS.flatMap((victim) => STEPS.map((step) => ({ victim, step })));
    while (left.length > 0) {
      const { victim, step } = left.splice(random.below(left.length), 1)[0]!;
      const [from, to] = [0, 1];
      const offloaded = (await jobs.run(from)).pid;
      const holder = (await jobs.run(to)).pid;
      await cuda.fault(step, { lateMs: LATE_MS[victim] });
      const { id, number } = await jobs.submit(from);
      await waitFor(`the call ${step}`, async () => !(await cuda.plans(step)));
      const moved = step === 'lock' || step === 'checkpoint' ? holder : offloaded;
      if (victim === 'worker') process.kill(moved, 'SIGKILL');
      else {
        const child = victim === 'agent' ? agent! : core!;
        await child.kill();
        await child.start();
      }
      await jobs.finished(from, { id, number });
      t.equal((await jobs.run(to)).mib, WORKER_MIB, `${victim} killed at ${step}: both endpoints go on`);
    }
  });

  // The short run leaves it to test/core/scaling/standby/offload.test.ts.
  if (isLong)
    await t.test('a budget for one: the longest offloaded worker ends', async (t) => {
      await agent!.stop();
      agentEnv['SLIPWAY_STANDBY_MEMORY_GB'] = '1';
      await agent!.start();
      for (const endpoint of [0, 1, 2]) {
        await jobs.run(endpoint);
        await waitFor('core to know how much it holds', async () =>
          (await workers()).some((one) => !one.ended && one.endpoint === sharers[endpoint]!.id && one.bytes > 0),
        );
      }
      const [first] = (await workers()).filter(({ endpoint }) => endpoint === sharers[0]!.id).slice(-1);
      t.match(first, { ended: true }, 'the first one made room');
      await waitFor('one to be offloaded', async () => {
        const living = (await workers()).filter(({ ended }) => !ended);
        return living.filter(({ reached }) => reached === 'HOST').length === 1;
      });
      await jobs.run(0);
    });

  await agent!.stop();
  t.equal(await cuda.used(CARD), 0, 'nothing is left on the card');
});
