// test: python, 20 s
/**
 * A real agent with unmodified Python workers whose GPU memory moves, on a driver's stand-in: many workers on one card,
 * and kill -9 of the agent and of workers at each step.
 */
import { readFile } from 'node:fs/promises';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { brokersOf, helpersOf, isGone } from '../../helpers/cuda/driver-processes.ts';
import { startGpuAgent } from '../../helpers/cuda/gpu-agent-process.ts';
import type { DriverCall } from '../../helpers/cuda/stand-in.ts';
import { cudaSkip, MIB, startCuda } from '../../helpers/cuda/stand-in.ts';
import { pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { PATIENCE_MS, waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const [RUN, FREEZE] = [DesiredState.RUN, DesiredState.FREEZE];
const { HOST, UNSPECIFIED } = StandbyLevel;
const CARD = 'GPU-0000-one';
const CARD_MIB = 4_096;
const WORKER_MIB = 3_000;
/** Jobs of the workers that share a card. */
const JOBS = Number(process.env.SLIPWAY_TEST_IN_FLIGHT ?? 12);
const PYTHONS = ['new', 'old', 'new'] as const;

/** Processes that are killed at each step. SLIPWAY_TEST_KILLS: both at all of them. */
const STEPS: DriverCall[] = ['lock', 'checkpoint', 'restore', 'unlock'];
const [WORKER, AGENT, BOTH] = [['worker'], ['agent'], ['worker', 'agent']] as const;
const isLong = process.env.SLIPWAY_TEST_KILLS !== undefined;
const VICTIMS = {
  lock: isLong ? BOTH : WORKER,
  checkpoint: isLong ? BOTH : AGENT,
  restore: isLong ? BOTH : AGENT,
  unlock: isLong ? BOTH : WORKER,
  state: [],
} as const;

const workerOf = (python: (typeof PYTHONS)[number]) => ({
  startCommand: pythonHandler(python, 'gpu.py'),
  gpuUuids: [CARD],
  mib: WORKER_MIB,
});

t.test('an agent that moves GPU memory', { skip: cudaSkip || skipWithoutPython('new', 'old') }, async (t) => {
  const cuda = await startCuda(t, { cards: { [CARD]: CARD_MIB } });

  await t.test('workers of both SDKs share a card with space for one', async (t) => {
    const agent = await startGpuAgent(t, cuda);
    t.match((await waitFor('its hello', () => agent.core.hello())).machine, {
      gpuOffload: { supported: true, unsupportedReason: '' },
    });
    const random = seededRandom();
    const pids = new Map<string, number>();
    const ids = PYTHONS.map((_, index) => `w${index}`);
    let active: string | undefined;
    let moves = 0;
    const activate = async (id: string): Promise<void> => {
      if (active === id) return;
      if (active !== undefined) await agent.offload(active);
      if (pids.has(id)) await agent.restore(id);
      else await agent.start(id, workerOf(PYTHONS[ids.indexOf(id)]!));
      if (pids.has(id)) moves += 1;
      active = id;
    };
    const wrong: unknown[] = [];
    for (let number = 0; number < JOBS; number += 1) {
      const id = number < ids.length ? ids[number]! : random.one(ids);
      await activate(id);
      const output = await agent.run(id, number);
      if (!pids.has(id)) pids.set(id, output.pid);
      if (output.number !== number || output.pid !== pids.get(id) || output.mib !== WORKER_MIB)
        wrong.push({ id, number, output });
    }
    t.strictSame(wrong, [], 'each job ran in the process that it was given to, which has all of its GPU memory');
    t.ok(
      [...agent.core.outcomes.values()].every((outputs) => outputs.length === 1),
      'once',
    );
    t.equal(await cuda.used(CARD), WORKER_MIB, 'one of them is on the card');
    const served = await readMetrics(agent.metrics);
    t.equal(valueOf(served, 'slipway_agent_offload_operations_total', { direction: 'restore' }), moves);
    t.equal(valueOf(served, 'slipway_agent_offload_held_bytes'), (ids.length - 1) * WORKER_MIB * MIB);

    const maps = await readFile(`/proc/${agent.child.pid}/maps`, 'utf8');
    t.notMatch(maps, /libcuda|koffi/, 'the agent has no driver that it could call on its event loop');
    t.equal((await brokersOf(agent.child.pid)).length, 1, 'another process starts what talks to the driver');

    // A worker that is killed while it is offloaded leaves nothing, and the others go on.
    const [victim] = ids.filter((id) => id !== active);
    process.kill(pids.get(victim!)!, 'SIGKILL');
    await agent.core.reaches(victim!, WorkerState.UNHEALTHY, UNSPECIFIED);
    t.equal((await agent.run(active!, JOBS)).mib, WORKER_MIB);
  });

  // A measurement for docs/operate/operations.md, which needs ten Python workers.
  if (isLong)
    await t.test('ten workers move at once', async (t) => {
      const uuids = Array.from({ length: 10 }, (_, index) => `GPU-0000-${index}`);
      const ten = await startCuda(t, { cards: Object.fromEntries(uuids.map((uuid) => [uuid, 1_024])) });
      await ten.pace(2_000, 1_000);
      const agent = await startGpuAgent(t, ten);
      const id = (index: number): string => `t${index}`;
      for (const [index, uuid] of uuids.entries())
        await agent.start(id(index), { startCommand: pythonHandler('new', 'gpu.py'), gpuUuids: [uuid], mib: 512 });
      const longest = async (): Promise<string> => {
        const seconds = valueOf(await readMetrics(agent.metrics), 'nodejs_eventloop_lag_max_seconds') ?? 0;
        return `${(seconds * 1_000).toFixed(1)} ms`;
      };
      // Each reading begins a new measurement. It looks every 10 ms, which are part of what it shows.
      await longest();
      for (const [index] of uuids.entries()) await agent.run(id(index), 4_900 + index);
      t.comment(`longest loop of the agent while ten jobs run and nothing moves: ${await longest()}`);
      await Promise.all(uuids.map((_, index) => agent.offload(id(index))));
      t.comment(`while ten workers leave their GPUs: ${await longest()}`);
      await Promise.all(uuids.map((_, index) => agent.restore(id(index))));
      t.comment(`while they come back: ${await longest()}`);
      for (const [index, uuid] of uuids.entries()) {
        t.equal(await ten.used(uuid), 512);
        t.equal((await agent.run(id(index), 5_000 + index)).mib, 512);
      }
    });

  await t.test('kill -9 at each step leaves nothing on the card, and no helper process', async (t) => {
    const agent = await startGpuAgent(t, cuda);
    for (const [index, step] of STEPS.entries()) {
      for (const victim of VICTIMS[step]) {
        const id = `k${index}${victim}`;
        await agent.start(id, workerOf('new'));
        const { pid } = await agent.run(id, 1_000 + index * 2 + Number(victim === 'agent'));
        if (step === 'restore' || step === 'unlock') await agent.offload(id);
        await cuda.forgetCalls();
        await cuda.fault(step, { lateMs: 60_000 });
        if (step === 'restore' || step === 'unlock') agent.want(id, RUN);
        else agent.want(id, FREEZE, HOST);
        await waitFor('the step', async () => !(await cuda.plans(step)), PATIENCE_MS);
        const helpers = await helpersOf(agent.child.pid);
        t.ok(helpers.length > 0);
        if (victim === 'worker') {
          process.kill(pid, 'SIGKILL');
          const { state } = await agent.core.reaches(id, WorkerState.STOPPED, UNSPECIFIED);
          t.equal(state, WorkerState.STOPPED);
        } else {
          await agent.child.kill();
          await waitFor('its helpers to end', () => helpers.every(isGone), PATIENCE_MS);
          agent.drop(id);
          await agent.child.start();
        }
        await waitFor(`${victim}, ${step}: the worker's end`, () => isGone(pid), PATIENCE_MS);
        t.equal(await cuda.used(CARD), 0, `${victim} killed at ${step}`);
        agent.drop(id);
      }
    }
  });
});
