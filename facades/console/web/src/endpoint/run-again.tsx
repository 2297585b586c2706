/** Runs all jobs of a group of errors again, and says how far it is; it can be stopped. */

import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { count } from '../lib/format.ts';
import { useChangeAll } from './jobs/change-all.ts';

const WORD = 'queued again';

/** A group, and how many jobs it has, for people. */
export interface RunGroup {
  id: string;
  jobs: string;
}

/** What can be done, and a line that says how far it is. */
export interface RunAgain {
  /** Undefined while a group is run again. */
  runAgain: ((group: RunGroup) => Promise<void>) | undefined;
  line: ReactNode;
}

/** `minutes`: of the group as far back as that; `onDone`: what is shown is no longer so. */
export function useRunAgain(id: string, minutes: number, onDone: () => void): RunAgain {
  const [running, setRunning] = useState<RunGroup>();
  const [summary, setSummary] = useState('');
  const { run, stop, progress, failureReason } = useChangeAll(id, WORD);
  const result = useRef<HTMLSpanElement>(null);
  // The button that had the focus is no more, once its group is gone.
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
