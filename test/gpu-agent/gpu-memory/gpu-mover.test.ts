// test: 15 s
/** Moves of GPU memory on a driver's stand-in: the order of the calls, what fails, and that nothing hangs for ever. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { Broker } from '@slipway/gpu-agent/gpu-memory/broker';
import { GpuMover } from '@slipway/gpu-agent/gpu-memory/gpu-mover';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { offloadFault } from '@slipway/gpu-agent/gpu-memory/offload-support';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { CUDA, cudaSkip, MIB, startCuda } from '../../helpers/cuda/stand-in.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { GIB, letterOf, setUp, workerOf } from './moved-workers.ts';

t.setTimeout(300_000);

const CARDS = { 'GPU-1': 16_384, 'GPU-2': 16_384 };

t.test('moves of GPU memory', { skip: cudaSkip }, async (t) => {
  const cuda = await startCuda(t, { cards: CARDS });

  t.test("NVIDIA's program moves workers where Node cannot load the driver", async (t) => {
    const { mover, used } = await setUp(t, cuda, { env: { PATH: cuda.env.PATH } });
    const worker = await cuda.process(t, { 'GPU-1': 1_024 });
    const { worker: moved } = workerOf(worker);
    const { memory } = await mover.offload(moved, false);
    t.strictSame(await used(), [0, 0]);
    await mover.restore(moved, memory);
    t.equal(await worker.use(), 1_024);
    t.strictSame(await cuda.calls(), ['lock 0', 'checkpoint 0', 'state -3', 'restore 0', 'unlock 0']);
    await cuda.fault('checkpoint', { code: CUDA.NOT_SUPPORTED });
    t.match(await mover.offload(moved, false).catch((error: unknown) => error), { failure: 'UNSUPPORTED' });
  });

  t.test('ten workers move at once: this process neither loads the driver nor waits for it', async (t) => {
    const { mover, used } = await setUp(t, cuda);
    const workers = await Promise.all(
      Array.from({ length: 10 }, async () => workerOf(await cuda.process(t, { 'GPU-1': 512 })).worker),
    );
    await cuda.pace(200, 100);
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    const moved = await Promise.all(workers.map((worker) => mover.offload(worker, false)));
    t.strictSame(await used(), [0, 0]);
    await Promise.all(workers.map((worker, index) => mover.restore(worker, moved[index]!.memory)));
    loop.disable();
    await cuda.pace(0, 0);
    t.comment(`longest block of the event loop: ${(loop.max / 1e6).toFixed(1)} ms`);
    t.strictSame(await used(), [5_120, 0]);
    t.notMatch(readFileSync('/proc/self/maps', 'utf8'), /libcuda|koffi/);
  });

  t.test('a burst of moves starts helpers once, and one is left of them 30 s later', async (t) => {
    const clock = new ManualClock();
    const { mover, started } = await setUp(t, cuda, { clock });
    const workers = await Promise.all(
      [1, 2, 3].map(async () => workerOf(await cuda.process(t, { 'GPU-1': 512 })).worker),
    );
    await cuda.pace(200, 100);
    const moved = await Promise.all(workers.map((worker) => mover.offload(worker, false)));
    t.equal(started.length, 3);
    await Promise.all(workers.map((worker, index) => mover.restore(worker, moved[index]!.memory)));
    await cuda.pace(0, 0);
    t.equal(started.length, 3);
    clock.pass(30_000);
    t.equal(started.filter(({ hasEnded }) => !hasEnded).length, 1);
  });

  t.test('a worker of two processes and two cards moves as a whole, and goes on where it was', async (t) => {
    const { mover, memory, used } = await setUp(t, cuda);
    const [first, second] = [
      await cuda.process(t, { 'GPU-1': 1_024 }),
      await cuda.process(t, { 'GPU-1': 512, 'GPU-2': 256 }),
    ];
    const neighbour = await cuda.process(t, { 'GPU-1': 100 });
    const { worker } = workerOf(first, second);
    const { memory: moved, bytes } = await mover.offload(worker, false);
    t.equal(bytes, 1_792 * MIB);
    t.strictSame(await used(), [100, 0], 'only what the neighbour holds is left');
    t.strictSame([letterOf(first.pid), letterOf(second.pid)], ['T', 'T'], 'frozen');
    t.equal(memory.usedBytes, bytes);
    t.strictSame(await cuda.calls(), ['lock 0', 'lock 0', 'checkpoint 0', 'state -3', 'checkpoint 0', 'state -3']);
    t.equal(await neighbour.use(), 100);

    t.equal((await mover.restore(worker, moved)).bytes, bytes);
    t.strictSame(await used(), [1_636, 256]);
    t.equal(memory.usedBytes, 0);
    t.strictSame([await first.use(), await second.use()], [1_024, 768]);
    t.strictSame((await cuda.calls()).slice(6), ['restore 0', 'restore 0', 'unlock 0', 'unlock 0']);
  });

  t.test('a frozen worker is thawed before the driver is called', async (t) => {
    const { mover } = await setUp(t, cuda);
    const process = await cuda.process(t, { 'GPU-1': 64 });
    const { worker } = workerOf(process);
    await worker.freeze();
    await mover.offload(worker, true);
    t.equal(await cuda.used('GPU-1'), 0);
    t.equal(letterOf(process.pid), 'T');
  });

  t.test('if one process fails, the others are brought back', async (t) => {
    const { mover, memory, used } = await setUp(t, cuda);
    const processes = [await cuda.process(t, { 'GPU-1': 64 }), await cuda.process(t, { 'GPU-1': 64 })] as const;
    await cuda.fault('checkpoint', { code: CUDA.OPERATING_SYSTEM, skip: 1 });
    const { worker } = workerOf(...processes);
    await t.rejects(mover.offload(worker, false), {
      failure: 'DRIVER_ERROR',
      message: /checkpoint of process \d+: CUDA_ERROR_OPERATING_SYSTEM/,
    });
    t.strictSame(
      processes.map(({ pid }) => cuda.stateOf(pid)),
      [0, 0],
    );
    t.strictSame([await used(), memory.usedBytes], [[128, 0], 0]);
  });

  t.test('a hanging call is killed with its helper process; the next one succeeds', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    const [stuck, other] = [await cuda.process(t, { 'GPU-1': 64 }), await cuda.process(t, { 'GPU-2': 64 })];
    // The worker says that it is thawed, but is not: the driver waits for it for ever.
    stuck.signal('SIGSTOP');
    await waitFor('it to stop', () => letterOf(stuck.pid) === 'T');
    const late = mover.offload(workerOf(stuck).worker, false).catch((error: unknown) => error);
    const moved = await mover.offload(workerOf(other).worker, false);
    t.equal(moved.bytes, 64 * MIB, 'others do not wait');
    clock.pass(20_000);
    t.match(await late, { failure: 'TIMED_OUT', message: 'it took longer than 15 s' });
  });

  t.test('a worker that ends in the middle ends the move', async (t) => {
    const { mover, memory } = await setUp(t, cuda);
    await cuda.fault('checkpoint', { lateMs: 600_000 });
    const process = await cuda.process(t, { 'GPU-1': 64 });
    const { worker, end } = workerOf(process);
    const move = mover.offload(worker, false).catch((error: unknown) => error);
    await waitFor('the call that is late', async () => !(await cuda.plans('checkpoint')));
    // The end is seen before the driver gives up, which takes it as a failure of its own.
    const killed = process.kill();
    end();
    await killed;
    t.match(await move, { failure: 'WORKER_ENDED' });
    t.equal(memory.usedBytes, 0);
    t.equal(await cuda.used('GPU-1'), 0);
  });

  t.test('a worker over the budget is not touched', async (t) => {
    const { mover } = await setUp(t, cuda, { budget: GIB });
    const process = await cuda.process(t, { 'GPU-1': 1_100 });
    await t.rejects(mover.offload(workerOf(process).worker, false), {
      failure: 'NOT_ENOUGH_HOST_MEMORY',
      message: 'it holds 1.1 GiB of GPU memory, and 1.0 GiB of --standby-memory are left',
    });
    t.strictSame(await cuda.calls(), []);
    const { worker } = workerOf(await cuda.process(t, { 'GPU-1': 1_000 }));
    await mover.offload(worker, false);
    await t.rejects(mover.offload(workerOf(await cuda.process(t, { 'GPU-2': 100 })).worker, false), {
      message: /^it holds 0\.1 GiB/,
    });
  });

  t.test('a worker that holds no GPU memory is only frozen', async (t) => {
    const { mover } = await setUp(t, cuda);
    const { worker } = workerOf();
    const { memory, bytes } = await mover.offload(worker, false);
    t.equal(bytes, 0);
    t.equal((await mover.restore(worker, memory)).bytes, 0);
    t.strictSame(await cuda.calls(), []);
  });

  t.test('a worker whose processes cannot be read is not taken for one without GPU memory', async (t) => {
    const { mover, memory } = await setUp(t, cuda);
    const process = await cuda.process(t, { 'GPU-1': 64 });
    const { worker } = workerOf(process);
    const unseen = { ...worker, pids: async () => [] };
    const failure = { failure: 'DRIVER_ERROR', message: 'its processes cannot be seen' };
    await t.rejects(mover.offload(unseen, false), failure);
    t.strictSame([await cuda.calls(), memory.usedBytes], [[], 0]);
    const { memory: moved } = await mover.offload(worker, false);
    await cuda.forgetCalls();
    await t.rejects(mover.restore({ ...worker, pids: async () => [] }, moved), failure);
    t.strictSame(await cuda.calls(), []);
    t.equal(letterOf(process.pid), 'T', 'nothing runs without its memory');
  });

  t.test('a pid namespace of its own, and a worker that ends while the driver is asked', async (t) => {
    const { helpers, memory } = await setUp(t, cuda);
    const { worker } = workerOf();
    const held = [{ uuid: 'GPU-1', pid: 4_000_001, bytes: MIB }];
    const offload = (readings: (typeof held)[]) =>
      new GpuMover({
        helpers,
        memory,
        readHeldMemory: async () => readings.shift()!,
        readFreeMemory: async () => new Map(),
        isVisible: (pid) => pid !== held[0]!.pid,
        clock: systemClock,
      }).offload(worker, false);
    await t.rejects(offload([held, held]), { failure: 'UNSUPPORTED', message: /pid namespace/ });
    // The machine can move the memory of others.
    await t.rejects(offload([held, []]), { failure: 'DRIVER_ERROR', message: /cannot be seen/ });
  });

  t.test('a machine says why it cannot move memory', async (t) => {
    const { helpers } = await setUp(t, cuda);
    const card = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 16_384, migProfile: '', virtual: false };
    const ask = cuda.smi;
    t.equal(await offloadFault([card], helpers, ask), '');
    t.match(await offloadFault([], helpers, ask), /no GPU/);
    t.match(await offloadFault([{ ...card, virtual: true }], helpers, ask), /virtual/);
    t.equal(
      await offloadFault([card, { ...card, name: 'AMD Instinct MI300X OAM' }], helpers, ask),
      "only NVIDIA's driver can move GPU memory, and the machine has AMD Instinct MI300X OAM",
    );
    t.match(await offloadFault([{ ...card, migProfile: '1g.10gb' }], helpers, ask), /MIG/);
    await promisify(execFile)('sh', ['-c', `echo 565.90 > ${join(cuda.folder, 'driver')}`]);
    t.equal(await offloadFault([card], helpers, ask), 'driver 565.90 is older than 570');
    const broker = new Broker({}, systemClock);
    t.teardown(() => broker.close());
    const none = new HelperPool(systemClock, () => broker.helper());
    t.equal(await offloadFault([card], none, async () => '580.95\n'), 'libcuda.so.1 was not found');
  });
});
