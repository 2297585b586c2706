/** A mover on the driver's stand-in, and workers that it moves. */
import { readFileSync } from 'node:fs';
import { Broker } from '@slipway/gpu-agent/gpu-memory/broker';
import { readFreeMemory, readHeldMemory } from '@slipway/gpu-agent/gpu-memory/compute-apps';
import type { MovedWorker } from '@slipway/gpu-agent/gpu-memory/gpu-mover';
import { GpuMover } from '@slipway/gpu-agent/gpu-memory/gpu-mover';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import type { Helper } from '@slipway/gpu-agent/gpu-memory/helper-requests';
import { sharedRead } from '@slipway/gpu-agent/gpu-memory/shared-read';
import { StandbyMemory } from '@slipway/gpu-agent/gpu-memory/standby-memory';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import type { CudaStandIn } from '../../helpers/cuda/stand-in.ts';
import { MIB } from '../../helpers/cuda/stand-in.ts';
import type { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

export const GIB = 1024 * MIB;

type CudaProcess = Awaited<ReturnType<CudaStandIn['process']>>;

/** Returns the letter of a process's state: T when it is stopped. */
export const letterOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0]!;

/** Returns a worker of these processes. */
export function workerOf(...processes: CudaProcess[]) {
  const ended = new AbortController();
  const worker: MovedWorker = {
    id: `worker-${processes[0]?.pid}`,
    pids: async () => processes.map(({ pid }) => pid),
    freeze: async () => {
      for (const { signal } of processes) signal('SIGSTOP');
      await waitFor('it to stop', () => processes.every(({ pid }) => letterOf(pid) === 'T'));
    },
    thaw: async () => {
      for (const { signal } of processes) signal('SIGCONT');
    },
    holds: () => undefined,
    signal: ended.signal,
  };
  return { worker, end: () => ended.abort() };
}

/** Builds a mover. `clock`: of its waits and time limits. `env`: where its helpers find the driver. */
export async function setUp(
  t: Test,
  cuda: CudaStandIn,
  {
    budget = 64 * GIB,
    clock = systemClock as ManualClock | typeof systemClock,
    env = cuda.env as Record<string, string>,
  } = {},
) {
  await cuda.forgetCalls();
  const broker = new Broker(env, systemClock);
  const started: Helper[] = [];
  const helpers = new HelperPool(clock, () => {
    const helper = broker.helper();
    started.push(helper);
    return helper;
  });
  t.teardown(() => {
    helpers.close();
    broker.close();
  });
  const memory = new StandbyMemory(
    () => budget,
    () => ({ total: 256 * GIB, available: 256 * GIB }),
  );
  const mover = new GpuMover({
    helpers,
    memory,
    readHeldMemory: sharedRead(() => readHeldMemory(broker.ask)),
    readFreeMemory: sharedRead(() => readFreeMemory(broker.ask)),
    isVisible: () => true,
    clock,
  });
  const used = async (): Promise<number[]> => [await cuda.used('GPU-1'), await cuda.used('GPU-2')];
  return { helpers, started, memory, mover, used };
}
