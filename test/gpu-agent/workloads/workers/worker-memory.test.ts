// test: 15 s
/** Workers whose GPU memory is moved: the report to core at each step, and what the next run of the agent finds. */
import { Broker } from '@slipway/gpu-agent/gpu-memory/broker';
import { GpuMemory } from '@slipway/gpu-agent/gpu-memory/gpu-memory';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { offloadMetrics } from '@slipway/gpu-agent/gpu-memory/offload-metrics';
import { createLogger } from '@slipway/kit/log/logger';
import { Metrics } from '@slipway/kit/observe/metrics';
import { systemClock } from '@slipway/kit/time/clock';
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState, DesiredWorkers, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import type { CudaStandIn } from '../../../helpers/cuda/stand-in.ts';
import { CUDA, cudaSkip, MIB, startCuda } from '../../../helpers/cuda/stand-in.ts';
import { parseMetrics, valueOf } from '../../../helpers/system/metrics.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { wired } from '../../attempts/wired.ts';

t.setTimeout(300_000);

const [RUN, FREEZE] = [DesiredState.RUN, DesiredState.FREEZE];
const { GPU, HOST } = StandbyLevel;
const SPEC = WorkerSpec.fromPartial({ imageName: 'image', gpuUuids: ['GPU-1'] });
const CARD = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 4_096, migProfile: '', virtual: false };

/** Returns an agent's parts with one worker in a container, which is a process that holds GPU memory. */
async function setUp(t: Test, cuda: CudaStandIn) {
  const broker = new Broker(cuda.env, systemClock);
  /** Clock of the time limits of calls. */
  const limits = new ManualClock();
  const helpers = new HelperPool(limits, () => broker.helper());
  const metrics = new Metrics();
  const count = offloadMetrics(metrics, () => gpuMemory.usedBytes);
  const moves: unknown[] = [];
  let unsupported = 0;
  const gpuMemory = new GpuMemory({
    budgetBytes: () => 2_048 * MIB,
    onUnsupported: () => {
      unsupported += 1;
    },
    onMove: (direction, result) => {
      moves.push([direction, typeof result === 'string' ? result : result.bytes]);
      count(direction, result);
    },
    broker,
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
  const failures = async (reason: string): Promise<number> =>
    valueOf(parseMetrics((await metrics.read()).text), 'slipway_agent_offload_failures_total', { reason });
  const seen = { told, moves, failures, unsupported: () => unsupported };
  return { ...agent, ...seen, gpuMemory, process, desire, reaches, worker, limits };
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
    const { desire, reaches, gpuMemory, failures } = await setUp(t, cuda);
    gpuMemory.adopted('other', 1_500 * MIB);
    await cuda.forgetCalls();
    desire(FREEZE, HOST);
    t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.NOT_ENOUGH_HOST_MEMORY,
      gpuMemoryBytes: 1_024 * MIB,
    });
    t.strictSame(await cuda.calls(), []);
    t.equal(await failures('NOT_ENOUGH_HOST_MEMORY'), 1);
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
      const { desire, reaches, executor, gpuMemory, failures } = await setUp(t, cuda);
      await cuda.fault(name, { code: CUDA.OPERATING_SYSTEM });
      desire(FREEZE, HOST);
      if (name === 'restore' || name === 'unlock') {
        await reaches(WorkerState.FROZEN, HOST);
        desire(RUN);
      }
      t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), { offloadFailure: failure, reason });
      t.equal(executor.of('w1')!.asked.at(-1), 'kill');
      t.strictSame([gpuMemory.usedBytes, gpuMemory.fault], [0, '']);
      t.equal(await failures('DRIVER_ERROR'), 1);
    });
  }

  t.test('a call that takes too long, a restore without space, and an end in the middle', async (t) => {
    const late = await setUp(t, cuda);
    await cuda.fault('lock', { lateMs: 600_000 });
    late.desire(FREEZE, HOST);
    await waitFor('the call', async () => !(await cuda.plans('lock')));
    late.limits.pass(16_000);
    t.notOk(late.worker.isStopping, 'within its limit of 15 s and 2.2 s a GiB');
    late.limits.pass(1_500);
    t.match(await late.reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.TIMED_OUT,
    });
    t.equal(await late.failures('TIMED_OUT'), 1);
    await late.process.kill();

    const short = await setUp(t, cuda);
    short.desire(FREEZE, HOST);
    await short.reaches(WorkerState.FROZEN, HOST);
    await cuda.fault('restore', { code: CUDA.OUT_OF_MEMORY });
    short.desire(RUN);
    t.match(await short.reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.NOT_ENOUGH_GPU_MEMORY,
    });
    t.equal(await short.failures('NOT_ENOUGH_GPU_MEMORY'), 1);
    await short.process.kill();

    const ended = await setUp(t, cuda);
    await cuda.fault('checkpoint', { lateMs: 600_000 });
    ended.desire(FREEZE, HOST);
    await waitFor('the call', async () => !(await cuda.plans('checkpoint')));
    await ended.exit('w1', { signal: 'SIGKILL' });
    await waitFor('its end', () => ended.worker.hasEnded);
    await waitFor('the move to be over', async () => (await ended.failures('WORKER_ENDED')) === 1);
    t.equal(ended.gpuMemory.usedBytes, 0);
  });

  t.test('a move refused from the first time marks the machine as unsupported', async (t) => {
    const { desire, reaches, gpuMemory, unsupported, failures } = await setUp(t, cuda);
    await cuda.fault('lock', { code: CUDA.NOT_SUPPORTED });
    desire(FREEZE, HOST);
    t.match(await reaches(WorkerState.STOPPED, StandbyLevel.UNSPECIFIED), {
      offloadFailure: OffloadFailure.UNSUPPORTED,
    });
    t.match(gpuMemory.fault, /lock of process \d+: CUDA_ERROR_NOT_SUPPORTED/);
    t.strictSame([unsupported(), await failures('UNSUPPORTED')], [1, 1]);
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
    next.pool.adopt('w4', { ...previous, memory: worker.memory!.record });
    t.equal(next.gpuMemory.usedBytes, 2_048 * MIB);
    await next.pool.begin(undefined);
    t.equal(next.gpuMemory.usedBytes, 1_024 * MIB, 'the one that is gone holds nothing');
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
