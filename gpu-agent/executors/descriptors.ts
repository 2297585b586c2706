/**
 * Reads of /proc by an agent that may have no free file descriptor. A file that cannot be opened for that reason must
 * not look like a process that has ended: what is left out of a list of processes would outlive its workload.
 */
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/** Errors of a process, or a machine, without a free file descriptor. */
const OUT_OF_DESCRIPTORS = new Set(['EMFILE', 'ENFILE']);

/** Pause before a list is read again, in milliseconds. */
export const READ_AGAIN_MS = 100;
/** Reads of a list that a caller waits for, over 2 s. */
const READS_MAX = 20;

/** For how long the end of a workload waits for a whole list of its processes, in milliseconds. */
export const UNREAD_MS_MAX = 300_000;

/** Message for an agent without a free file descriptor. */
export const NO_DESCRIPTOR = 'the agent has too many open files (EMFILE): raise its limit, LimitNOFILE of its service';

/** Returns whether a file could not be opened for want of a file descriptor. */
export function isOutOfDescriptors(error: unknown): boolean {
  return OUT_OF_DESCRIPTORS.has((error as NodeJS.ErrnoException).code ?? '');
}

/** Returns a function that gives `value` for a file that is gone, and rejects without a free file descriptor. */
export function ifGone<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (isOutOfDescriptors(error)) throw error;
    return value;
  };
}

/** Reads a list, again for 2 s while the agent has no free file descriptor. Rejects if it still has none then. */
export async function readAgain<List>(clock: Pick<Clock, 'after'>, read: () => Promise<List>): Promise<List> {
  for (let reads = 1; ; reads += 1) {
    try {
      return await read();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      if (reads >= READS_MAX) throw new Error(NO_DESCRIPTOR, { cause: error });
    }
    await delay(clock, READ_AGAIN_MS);
  }
}
