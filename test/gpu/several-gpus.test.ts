// test: postgres, python, 15 s
/**
 * All of Slipway with a worker that has two CUDA processes on two cards: both processes and both cards move, or none.
 * On a driver's stand-in, beside a worker that needs one of the cards.
 */
import t from 'tap';
import { CUDA, cudaSkip, startCuda } from '../helpers/cuda/stand-in.ts';
import { pythonHandler, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { cardJobs } from './card-jobs.ts';
import { createSharers } from './share-card.ts';

t.setTimeout(600_000);

const CARDS = ['GPU-0000-one', 'GPU-0000-two'] as const;
const CARD_MIB = 700;
/** What each process holds of each card, and what both workers hold in all. */
const [PROCESS_MIB, LARGE_MIB, SMALL_MIB] = [256, 1_024, 512];
const [LARGE, SMALL] = [0, 1];

t.test('a worker of two processes and two GPUs', { skip: cudaSkip || skipWithoutPython('new') }, async (t) => {
  const cuda = await startCuda(t, { cards: Object.fromEntries(CARDS.map((uuid) => [uuid, CARD_MIB])) });
  const slipway = await startProcesses(t, { agentEnv: { ...cuda.env, SLIPWAY_STANDBY_MEMORY_GB: '8' } });
  const command = pythonHandler('new', 'gpu.py');
  const env = { CUDA_STAND_IN: cuda.library };
  const two = { command, env: { ...env, GPU_MIB: String(PROCESS_MIB), GPU_CHILDREN: '1' }, gpuCount: 2 };
  const one = { command, env: { ...env, GPU_MIB: String(SMALL_MIB) } };
  const sharers = [...(await createSharers(slipway, 1, two)), ...(await createSharers(slipway, 1, one))];
  const jobs = await cardJobs(
    slipway,
    sharers.map((sharer) => sharer.jobs),
  );
  const used = async (): Promise<number[]> => [await cuda.used(CARDS[0]), await cuda.used(CARDS[1])];
  const workersOf = (endpoint: number) => slipway.sql<{ failure: string; reached: string; mib: number }[]>`
    SELECT offload_failure AS failure, standby_reached AS reached, (gpu_memory_bytes >> 20)::int AS mib FROM worker
    WHERE endpoint_id = ${sharers[endpoint]!.id} ORDER BY created_at`;
  const moves = async (): Promise<string[]> => (await cuda.calls()).filter((line) => !line.startsWith('state'));

  const first = await jobs.run(LARGE);
  t.equal(first.mib, LARGE_MIB);
  t.strictSame(await used(), [2 * PROCESS_MIB, 2 * PROCESS_MIB], 'both processes are on both cards');

  await t.test('all of it leaves, and all of it comes back', async (t) => {
    const small = await jobs.run(SMALL);
    t.strictSame((await used()).toSorted(), [0, SMALL_MIB], 'the second card is free, although one was needed');
    t.strictSame(await moves(), ['lock 0', 'lock 0', 'checkpoint 0', 'checkpoint 0'], 'all locked before any moves');
    t.match(await workersOf(LARGE), [{ reached: 'HOST', mib: LARGE_MIB }]);
    await cuda.forgetCalls();
    const again = await jobs.run(LARGE);
    t.match(again, { pid: first.pid, mib: LARGE_MIB }, 'the same processes, with everything that they had');
    t.strictSame(
      (await moves()).slice(2),
      ['restore 0', 'restore 0', 'unlock 0', 'unlock 0'],
      'after the other has left: all restored before any continues',
    );
    t.equal((await jobs.run(SMALL)).pid, small.pid);
    t.equal((await jobs.run(LARGE)).pid, first.pid);
  });

  await t.test('one process that cannot leave: the other is brought back, and the worker ends', async (t) => {
    await cuda.forgetCalls();
    await cuda.fault('checkpoint', { code: CUDA.OPERATING_SYSTEM, skip: 1 });
    t.equal((await jobs.run(SMALL)).mib, SMALL_MIB, 'the job of the other endpoint is served all the same');
    const failed = ['lock 0', 'lock 0', 'checkpoint 0', `checkpoint ${CUDA.OPERATING_SYSTEM}`];
    t.strictSame((await moves()).slice(0, 7), [...failed, 'restore 0', 'unlock 0', 'unlock 0']);
    t.match(await workersOf(LARGE), [{ failure: 'DRIVER_ERROR', reached: '' }]);
    const anew = await jobs.run(LARGE);
    t.equal(anew.mib, LARGE_MIB);
    t.not(anew.pid, first.pid, 'by a new worker');
  });

  await t.test('one process that cannot come back: the worker ends, and leaves nothing', async (t) => {
    const before = await jobs.run(LARGE);
    await jobs.run(SMALL);
    await waitFor('it to be offloaded', async () => (await workersOf(LARGE)).at(-1)?.reached === 'HOST');
    await cuda.fault('restore', { code: CUDA.OUT_OF_MEMORY, skip: 1 });
    const anew = await jobs.run(LARGE);
    t.equal(anew.mib, LARGE_MIB, 'the job is not lost');
    t.not(anew.pid, before.pid);
    t.match((await workersOf(LARGE)).at(-2), { failure: /^(NOT_ENOUGH_GPU_MEMORY|DRIVER_ERROR)$/ });
    t.strictSame(await used(), [2 * PROCESS_MIB, 2 * PROCESS_MIB], 'only the new one is on the cards');
  });

  t.ok(
    [...(await jobs.executions()).values()].every((count) => count === 1),
    'each job ran once',
  );
  await slipway.agents[0]!.stop();
  t.strictSame(await used(), [0, 0]);
});
