/**
 * Lets the event loops of all processes go before V8's helper threads. A helper that marks the heap runs for 20 to 40
 * ms at a stretch. At the priority of the event loops, each step of a request waits for its time slice on a machine
 * with few processors.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** Name of the threads. */
const HELPER = 'V8Worker';
/** Nice value of a helper: it still gets a tenth of a busy processor. */
const NICE = 10;

/** Lowers the priority of this process's helper threads. Does nothing where the system does not list threads. */
export function lowerHelperPriority(): void {
  const tasks = '/proc/self/task';
  try {
    for (const thread of readdirSync(tasks))
      if (readFileSync(`${tasks}/${thread}/comm`, 'utf8').trim() === HELPER)
        setPriority(Number(thread), Math.max(NICE, getPriority(Number(thread))));
  } catch {
    // Only the order of work changes.
  }
}
