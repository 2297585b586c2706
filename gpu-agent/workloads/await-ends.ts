/**
 * Waits for the ends of workloads when the agent stops, but not for ever: the engine that must end them may be away.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/** Milliseconds that a workload may take to end after it was killed. A busy engine takes seconds. */
const KILL_MS_MAX = 30_000;

/** A workload that was asked to end. */
interface EndingWorkload {
  readonly id: string;
  readonly done: Promise<void>;
}

/**
 * Resolves when all workloads have ended, or `graceMs` plus thirty seconds later. Logs the ids of running workloads
 * then: the reaper ends workers in containers with the lease, and `slipway agent --clean` ends everything.
 */
export async function awaitEnds(
  workloads: readonly EndingWorkload[],
  { graceMs, clock, logger }: { graceMs: number; clock: Clock; logger: Logger },
): Promise<void> {
  const left = new Set(workloads.map(({ id }) => id));
  const over = new AbortController();
  const ends = workloads.map(({ id, done }) => done.then(() => left.delete(id)));
  await Promise.race([Promise.all(ends), delay(clock, graceMs + KILL_MS_MAX, over.signal)]);
  over.abort();
  if (left.size > 0)
    logger.warn({ workloads: [...left] }, 'the agent stops without the end of its workloads: their engine is away');
}
