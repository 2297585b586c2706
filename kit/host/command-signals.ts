/**
 * Signals of a part that a command line runs in its own process. Loaded before the part (`node --import`), because the
 * part itself handles SIGTERM and SIGINT only. With `?npm` at the end of its URL the part also stops when npx ends: a
 * SIGTERM to npx alone reaches nothing that it started.
 */
import { backgroundClock } from '../time/clock.ts';

const PARENT_PERIOD_MS = 500;

// The terminal was closed. Without a handler the part would end at once, whatever it is doing.
process.on('SIGHUP', () => process.kill(process.pid, 'SIGTERM'));
if (import.meta.url.endsWith('?npm')) watchParent(process.ppid);

function watchParent(parent: number): void {
  backgroundClock.after(PARENT_PERIOD_MS, () => {
    if (process.ppid === parent) watchParent(parent);
    else process.kill(process.pid, 'SIGTERM');
  });
}
