/**
 * Reads how much GPU memory each worker holds while the agent runs. Core plans offloads by it. A driver that cannot
 * move GPU memory is not asked.
 */
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { GpuMemory } from '../../gpu-memory/gpu-memory.ts';
import type { WorkerPool } from './worker-pool.ts';

/** Interval between two reads, in milliseconds. */
const PERIOD_MS = 5_000;

/** Dependencies of the watch. */
interface MemoryWatchOptions {
  pool: Pick<WorkerPool, 'all'>;
  gpuMemory: Pick<GpuMemory, 'held'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Returns the service. */
export function memoryWatch({ pool, gpuMemory, ...deps }: MemoryWatchOptions): Loop {
  const pass = async (): Promise<void> => {
    const memories = pool.all().flatMap(({ memory, hasEnded }) => (memory && !hasEnded ? [memory] : []));
    const held = memories.length > 0 ? await gpuMemory.held() : undefined;
    if (held) await Promise.all(memories.map((memory) => memory.observe(held)));
  };
  return new Loop({ ...deps, name: 'GPU memory', periodMs: PERIOD_MS, pass });
}
