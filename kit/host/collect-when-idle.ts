/**
 * Collects the garbage of the start of a process, and later garbage, when the process is idle. V8 collects only when
 * something is allocated, so an idle process would keep it: core, facade and agent 25 to 50 MiB each.
 */
import type { EventLoopUtilization } from 'node:perf_hooks';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../time/clock.ts';

/** Length of a look at the event loop, in milliseconds. */
const LOOK_MS = 20_000;
/** Highest share of a look in which the loop of an idle process runs. */
const IDLE_MAX = 0.05;

/** Returns the use of the event loop since a previous reading. Default: performance.eventLoopUtilization. */
type ReadUtilization = (since?: EventLoopUtilization) => EventLoopUtilization;

/** Time after a collection until the heap is looked at again, in milliseconds, and the growth that is collected. */
const AGAIN_MS = 300_000;
const GROWTH_BYTES = 8 * 1024 * 1024;
/** Largest heap that is collected: a pause grows with the heap, and a request may come during it. */
const HEAP_BYTES_MAX = 128 * 1024 * 1024;

interface CollectOptions {
  clock: Pick<Clock, 'after'>;
  /** Default: that of this process. */
  read?: ReadUtilization;
  /** A larger heap is left to V8. Default: 128 MiB. */
  heapBytesMax?: number;
}

/**
 * Looks at the event loop until it was idle during a look, then collects. The collection blocks the loop for about
 * 0.1 s, which must never happen under load. Later it collects again when an idle process has gathered garbage: V8
 * itself waits until the heap has doubled. A large heap is left to V8, which collects it in small steps.
 */
export function collectWhenIdle(options: CollectOptions): void {
  const { clock, read = (since) => performance.eventLoopUtilization(since), heapBytesMax = HEAP_BYTES_MAX } = options;
  const before = read();
  clock.after(LOOK_MS, () => {
    if (read(before).utilization > IDLE_MAX) return collectWhenIdle(options);
    if (usedBytes() <= heapBytesMax) {
      setFlagsFromString('--expose-gc');
      const collect = runInNewContext('gc') as (options: object) => void;
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    }
    collectWhenGrown(options, usedBytes());
  });
}

function collectWhenGrown(options: CollectOptions, leftBytes: number): void {
  options.clock.after(AGAIN_MS, () => {
    if (usedBytes() - leftBytes < GROWTH_BYTES) collectWhenGrown(options, Math.min(leftBytes, usedBytes()));
    else collectWhenIdle(options);
  });
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size;
}
