/** Runs all jobs of a group of errors again, each as by its own button, and says how far it is; it can be stopped. */
import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { QueryClient } from '@tanstack/react-query';
import type { ErrorsView } from '../../../views-of-errors.ts';
import { ApiError, ask } from '../api.ts';
import { count, counted } from '../words.ts';

/** Requests at a time: the service takes twenty of an endpoint, and a hundred in 10 s. */
const AT_ONCE = 6;
/** One that was run again meanwhile, or is no more. */
const GONE = [400, 404];
/** Too many requests, or a part that is away: tried again. */
const PASSING = [0, 429, 503];
const TRIES_MAX = 60;
const PAUSE_MS = 1_000;

/** What can be done, and a line that says how far it is. */
export interface RunAgain {
  /** Undefined while a group is run again. */
  runAgain: ((groupId: string) => Promise<void>) | undefined;
  line: ReactNode;
}

/** `minutes`: of the group as far back as that; `onDone`: what is shown is no longer so. */
export function useRunAgain(id: string, minutes: number, onDone: () => void): RunAgain {
  const [told, setTold] = useState('');
  const [isRunning, setIsRunning] = useState(false);
  const isStopped = useRef(false);
  const queries = useQueryClient();
  const result = useRef<HTMLSpanElement>(null);
  // Whoever goes to another page stops it.
  useEffect(() => () => { isStopped.current = true; }, []);
  // The button that had the focus is no more, once its group is gone.
  useEffect(() => { if (told.includes('queued again.')) result.current?.focus(); }, [told]);
  const runAgain = async (groupId: string): Promise<void> => {
    isStopped.current = false;
    setIsRunning(true);
    setTold('Queueing …');
    try {
      const { groups: [group] } = await ask<ErrorsView>('GET', `/api/endpoints/${id}/errors?minutes=${minutes}&group=${groupId}`);
      const jobs = group?.jobIds ?? [];
      const tell = (done: number): void => setTold(`${count(done)} of ${count(jobs.length)} queued again …`);
      const stopped = (): boolean => isStopped.current;
      const { queued, failure } = await retryAll(jobs, (job) => retryOne(queries, id, job, stopped), { tell, isStopped: stopped });
      setTold(`${counted(queued, 'job')} queued again.${failure}${isStopped.current ? ' The others are left as they are.' : ''}`);
    } catch (error) {
      setTold((error as Error).message);
    }
    setIsRunning(false);
    onDone();
  };
  const stop = <button type="button" onClick={() => { isStopped.current = true; }}>Stop</button>;
  return { runAgain: isRunning ? undefined : runAgain, line: <><span ref={result} role="status" tabIndex={-1}>{told}</span> {isRunning && stop}</> };
}

/** Some at a time, the one that failed first first, until one is refused for a reason that holds for all. */
async function retryAll(
  jobs: readonly string[], retry: (job: string) => Promise<boolean>, { tell, isStopped }: { tell: (queued: number) => void; isStopped: () => boolean },
): Promise<{ queued: number; failure: string }> {
  const found = { queued: 0, failure: '' };
  const left = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = left.pop(); job !== undefined && found.failure === '' && !isStopped(); job = left.pop()) {
      try {
        if (await retry(job)) tell(found.queued += 1);
      } catch (error) {
        found.failure = ` ${(error as Error).message}`;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}

/** False: it is in another state, or is no more, or it was stopped while it waited. */
function retryOne(queries: QueryClient, id: string, job: string, isStopped: () => boolean): Promise<boolean> {
  const retry = async (): Promise<boolean> => {
    if (isStopped()) return false;
    try {
      await ask('POST', `/api/v2/${id}/retry/${job}`, {});
      return true;
    } catch (error) {
      if (error instanceof ApiError && GONE.includes(error.status)) return false;
      throw error;
    }
  };
  const mayHelp = (failures: number, error: Error): boolean => failures < TRIES_MAX && error instanceof ApiError && PASSING.includes(error.status);
  return queries.fetchQuery({ queryKey: ['retry', id, job], queryFn: retry, retry: mayHelp, retryDelay: PAUSE_MS, staleTime: 0, gcTime: 0 });
}
