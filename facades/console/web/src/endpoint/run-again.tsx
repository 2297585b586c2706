/** Runs all jobs of an error group again, with progress and a stop button. */

import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { count } from '../lib/format.ts';
import { useChangeAll } from './jobs/change-all.ts';

const WORD = 'queued again';

/** Runs a group again. `jobs` is its size as text. */
interface RunGroup {
  id: string;
  jobs: string;
}

/** The action, and a line with its progress. */
export interface RunAgain {
  /** `undefined` while a group is being run again. */
  runAgain: ((group: RunGroup) => Promise<void>) | undefined;
  line: ReactNode;
}

/** Returns the action for groups of the last `minutes`. `onDone` is called when the list is out of date. */
export function useRunAgain(id: string, minutes: number, onDone: () => void): RunAgain {
  const [running, setRunning] = useState<RunGroup>();
  const [summary, setSummary] = useState('');
  const { run, stop, progress, failureReason } = useChangeAll(id, WORD);
  const result = useRef<HTMLSpanElement>(null);
  // The button that had the focus is removed with its group.
  useEffect(() => {
    if (summary !== '') result.current?.focus();
  }, [summary]);
  const runAgain = async (group: RunGroup): Promise<void> => {
    setSummary('');
    setRunning(group);
    setSummary(await run({ path: 'retry', query: { errorGroup: group.id, endedFrom: `now-${minutes}m` } }));
    setRunning(undefined);
    onDone();
  };
  const now =
    running &&
    `${count(progress?.done ?? 0)} of ${running.jobs} ${WORD} …${failureReason ? ` ${failureReason.message}` : ''}`;
  return {
    runAgain: running ? undefined : runAgain,
    line: (
      <>
        <span ref={result} role="status" tabIndex={-1}>
          {now ?? summary}
        </span>{' '}
        {running && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </>
    ),
  };
}
