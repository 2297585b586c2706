// test: 15 s
/** Workers whose GPU memory is moved: the report to core at each step, and what the next run of the agent finds. */
import { GpuMemory } from '@slipway/gpu-agent/gpu-memory/gpu-memory';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { HelperProcess } from '@slipway/gpu-agent/gpu-memory/helper-process';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState, DesiredWorkers, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import type { CudaStandIn } from '../../../helpers/cuda/stand-in.ts';
import { CUDA, cudaSkip, MIB, startCuda } from '../../../helpers/cuda/stand-in.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { wired } from '../../attempts/wired.ts';

const [RUN, FREEZE] = [DesiredState.RUN, DesiredState.FREEZE];
const { GPU, HOST } = StandbyLevel;
const SPEC = WorkerSpec.fromPartial({ imageName: 'image', gpuUuids: ['GPU-1'] });
const CARD = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 4_096, migProfile: '', virtual: false };

/** Returns an agent's parts with one worker in a container, which is a process that holds GPU memory. */
async function setUp(t: Test, cuda: CudaStandIn) {
  const helpers = new HelperPool(systemClock, () => new HelperProcess(cuda.env));
  const moves: unknown[] = [];
  let unsupported = 0;
  const gpuMemory = new GpuMemory({
    budgetBytes: () => 2_048 * MIB,
    onUnsupported: () => {
      unsupported += 1;
    },
    onMove: (direction, result) => moves.push([direction, typeof result === 'string' ? result : result.bytes]),
    ask: cuda.smi,
    helpers,
    clock: systemClock,
    logger: createLogger('test', 'silent'),
  });
  t.teardown(() => gpuMemory.close());
  await gpuMemory.check([CARD]);
  const agent = await wired(t, { gpuMemory });
  await agent.runLog.open();
  const process = await cuda.process(t, { 'GPU-1': 1_024 });
  agent.executor.pids = [process.pid];
  agent.executor.freezing = async () => void process.signal('SIGSTOP');
  agent.executor.thawing = async () => void process.signal('SIGCONT');
  /** Reports to core about the worker, in order; each state once. */
  const told: WorkerReport[] = [];
  const listen = (): void => {
    const [report] = agent.message()?.workers ?? [];
    if (report) told.push(report);
  };
  agent.pool.listen({
    changed: () => setImmediate(listen),
    resultLine: () => undefined,
    leaving: () => undefined,
    stopping: () => undefined,
    leftRunning: () => undefined,
    ended: () => undefined,
    forgotten: () => undefined,
  });
  const desire = (desired: DesiredState, standbyLevel: StandbyLevel = GPU): void =>
    agent.pool.apply(
      DesiredWorkers.fromPartial({
        workers: [{ workerId: 'w1', endpointId: 'e1', desired, standbyLevel, spec: SPEC }],
      }),
    );
  const reaches = (state: WorkerState, level: StandbyLevel): Promise<WorkerReport> =>
    waitFor(`state ${state} at level ${level}`, () => {
      const last = told.at(-1);
      return last?.state === state && last.standbyLevel === level && last;
    });
  desire(RUN);
  await waitFor('its start', () => agent.executor.of('w1'));
  await waitFor('it to run', () => agent.pool.get('w1')!.isRunning);
  agent.pool.get('w1')!.ready();
  await reaches(WorkerState.READY, StandbyLevel.UNSPECIFIED);
  const worker = agent.pool.get('w1')!;
  return { ...agent, gpuMemory, process, told, desire, reaches, worker, moves, unsupported: () => unsupported };
}

t.test('workers whose GPU memory is moved', { skip: cudaSkip }, async (t) => {
  const cuda = await startCuda(t, { cards: { 'GPU-1': 4_096 } });

  t.test('from its GPU to host memory and back', async (t) => {
    const { desire, reaches, worker, process, told, moves, gpuMemory } = await setUp(t, cuda);
    await worker.memory!.observe((await gpuMemory.held())!);
    t.equal(worker.memory!.heldBytes, 1_024 * MIB, 'what it holds is known before');
    desire(FREEZE);
    await reaches(WorkerState.FROZEN, GPU);
    t.equal(await cuda.used('GPU-1'), 1_024);
    t.strictSame(worker.memory!.record, {});

    desire(FREEZE, HOST);
    t.strictSame(worker.memory!.record, { moving: true }, 'recorded before the first call');
    const offloaded = await reaches(WorkerState.FROZEN, HOST);
    t.equal(await cuda.used('GPU-1'), 0);
    t.match(offloaded, { gpuMemoryBytes: 1_024 * MIB, lastOffload: { bytes: 1_024 * MIB }, lastRestore: undefined });
    t.match(worker.memory!.record, { offloaded: { pids: [process.pid], cards: [{ bytes: 1_024 * MIB }] } });
    t.equal(gpuMemory.usedBytes, 1_024 * MIB);

    desire(FREEZE, GPU);
    t.equal(worker.memory!.isOffloaded, true, 'nobody has reserved its GPU: it stays');
    told.length = 0;
    desire(RUN);
    const ready = await reaches(WorkerState.READY, StandbyLevel.UNSPECIFIED);
    t.ok(
      told.every(({ state, standbyLevel }) => state === WorkerState.READY || standbyLevel === HOST),
      'until it is restored it is at HOST',
    );
    t.match(ready, { lastRestore: { bytes: 1_024 * MIB }, offloadFailure: OffloadFailure.UNSPECIFIED });
    t.equal(await process.use(), 1_024);
    t.equal(gpuMemory.usedBytes, 0);

    desire(FREEZE, HOST);
    await reaches(WorkerState.FROZEN, HOST);
    t.strictSame(moves, [
      ['offload', 1_024 * MIB],
      ['restore', 1_024 * MIB],
      ['offload', 1_024 * MIB],
    ]);
    desire(DesiredState.DRAIN);
    await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED);
    t.equal(gpuMemory.usedBytes, 0, 'an offloaded worker that ends gives the host memory free');
  });

  t.test('one whose memory is not known yet: the driver is asked, and core is told, before it is moved', async (t) => {
    const { desire, reaches, told, worker } = await setUp(t, cuda);
    t.equal(worker.memory!.heldBytes, 0);
    await cuda.forgetCalls();
    await cuda.fault('lock', { lateMs: 600 });
    desire(FREEZE, HOST);
    const report = await waitFor('a report', () => told.find(({ gpuMemoryBytes }) => gpuMemoryBytes > 0));
    t.match(report, { gpuMemoryBytes: 1_024 * MIB, lastOffload: undefined });
    t.not(report.standbyLevel, HOST);
    await reaches(WorkerState.FROZEN, HOST);
  });

  t.test('one that does not fit ends before any call, although its memory was not known', async (t) => {
    const { desire, reaches, gpuMemory } = await setUp(t, cuda);
    gpuMemory.adopted('other', 1_500 * MIB);
    await cuda.forgetCalls();
    desire(FREEZE, HOST);
    t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.NOT_ENOUGH_HOST_MEMORY,
      gpuMemoryBytes: 1_024 * MIB,
    });
    t.strictSame(await cuda.calls(), []);
  });

  const FAULTS = [
    {
      name: 'lock',
      failure: OffloadFailure.DRIVER_ERROR,
      reason: /could not be moved to host memory: lock of process/,
    },
    { name: 'checkpoint', failure: OffloadFailure.DRIVER_ERROR, reason: /checkpoint of process/ },
    { name: 'restore', failure: OffloadFailure.DRIVER_ERROR, reason: /could not be restored: restore of process/ },
    { name: 'unlock', failure: OffloadFailure.DRIVER_ERROR, reason: /unlock of process/ },
  ] as const;
  for (const { name, failure, reason } of FAULTS) {
    t.test(`a worker is ended when its ${name} fails`, async (t) => {
      const { desire, reaches, executor, gpuMemory } = await setUp(t, cuda);
      await cuda.fault(name, { code: CUDA.OPERATING_SYSTEM });
      desire(FREEZE, HOST);
      if (name === 'restore' || name === 'unlock') {
        await reaches(WorkerState.FROZEN, HOST);
        desire(RUN);
      }
      t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), { offloadFailure: failure, reason });
      t.equal(executor.of('w1')!.asked.at(-1), 'kill');
      t.strictSame([gpuMemory.usedBytes, gpuMemory.fault], [0, '']);
    });
  }

  t.test('a move refused from the first time marks the machine as unsupported', async (t) => {
    const { desire, reaches, gpuMemory, unsupported } = await setUp(t, cuda);
    await cuda.fault('lock', { code: CUDA.NOT_SUPPORTED });
    desire(FREEZE, HOST);
    t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.UNSUPPORTED,
    });
    t.match(gpuMemory.fault, /lock of process \d+: CUDA_ERROR_NOT_SUPPORTED/);
    t.equal(unsupported(), 1);
  });

  t.test('an offloaded worker that crashes ends like any other', async (t) => {
    const { desire, reaches, exit, gpuMemory } = await setUp(t, cuda);
    desire(FREEZE, HOST);
    await reaches(WorkerState.FROZEN, HOST);
    await exit('w1', { signal: 'SIGKILL' });
    await reaches(WorkerState.UNHEALTHY, StandbyLevel.UNSPECIFIED);
    t.equal(gpuMemory.usedBytes, 0);
  });

  t.test('the next run adopts an offloaded worker and ends one in the middle of a move', async (t) => {
    const { desire, reaches, worker, process } = await setUp(t, cuda);
    desire(FREEZE, HOST);
    await reaches(WorkerState.FROZEN, HOST);
    const next = await setUp(t, cuda);
    const previous = {
      endpointId: 'e1',
      token: 'x',
      spec: SPEC,
      sdk: '1.12.0',
      asked: true,
      frozen: true,
      refresh: false,
    };
    const launch = next.executor.starts[0]!.launch;
    for (const id of ['w2', 'w3']) next.executor.leftovers.set(id, { ...next.executor.starts[0]!, launch });
    next.executor.pids = [process.pid];
    next.executor.freezing = async () => void process.signal('SIGSTOP');
    next.executor.thawing = async () => void process.signal('SIGCONT');
    next.pool.adopt('w2', { ...previous, memory: worker.memory!.record });
    next.pool.adopt('w3', { ...previous, memory: { moving: true } });
    await next.pool.begin(undefined);
    const [adopted, interrupted] = [next.pool.get('w2')!, next.pool.get('w3')!];
    t.match(next.reporter.take(adopted), {
      state: WorkerState.FROZEN,
      standbyLevel: HOST,
      gpuMemoryBytes: 1_024 * MIB,
    });
    t.strictSame(next.executor.leftovers.get('w2')!.asked, ['freeze'], 'frozen again, without a call of the driver');
    await waitFor('the other one to end', () => interrupted.hasEnded);
    t.match(next.reporter.take(interrupted), {
      state: WorkerState.STOPPED,
      offloadFailure: OffloadFailure.INTERRUPTED,
      reason: 'Its agent ended while its GPU memory was moved.',
    });
    adopted.want({ workerId: 'w2', endpointId: 'e1', desired: RUN, spec: SPEC, idle: false, standbyLevel: GPU });
    await waitFor('it to be restored', () => adopted.state === WorkerState.READY);
    t.equal(await process.use(), 1_024, 'with everything that it had');
  });
});
