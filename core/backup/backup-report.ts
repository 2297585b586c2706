/** Texts of a backup or a restore for the operator: progress, and which jobs run again. */
import type { Clock } from '@slipway/kit/time/clock';
import type { DatabaseFacts } from '../store/backup/backup-contents.ts';
import type { BackupProgress } from './backup-format.ts';

/** Pause between two lines about one table, in milliseconds. */
const LINE_MS = 2_000;
const ENDPOINTS_MAX = 20;

/** Returns a listener that writes a line for each table with rows, and one every two seconds while a table takes. */
export function progressLines(clock: Clock, write: (line: string) => void): (progress: BackupProgress) => void {
  let writtenMs = clock.monotonicMs();
  return ({ table, rows, done }) => {
    const isDue = clock.monotonicMs() - writtenMs >= LINE_MS;
    if (rows === 0 || !(done || isDue)) return;
    writtenMs = clock.monotonicMs();
    write(`${table}: ${rows} rows${done ? '' : ' so far'}`);
  };
}

/** Returns lines about the jobs and webhook calls that run again after a restore. */
export function againLines({ takenAt, openJobs, webhooks }: DatabaseFacts): string[] {
  const sum = (of: 'queued' | 'running'): number => openJobs.reduce((total, each) => total + each[of], 0);
  const rest = openJobs.length - ENDPOINTS_MAX;
  return [
    `Taken at ${takenAt}: jobs that were accepted later are not in it.`,
    `${sum('queued')} queued and ${sum('running')} running jobs run after a restore, even if they have ended since.`,
    ...openJobs
      .slice(0, ENDPOINTS_MAX)
      .map(
        ({ endpointId, name, queued, running }) => `  ${name} (${endpointId}): ${queued} queued, ${running} running`,
      ),
    ...(rest > 0 ? [`  and jobs of ${rest} more endpoints`] : []),
    `${webhooks} webhook calls are made after a restore, even if they were made since.`,
  ];
}
