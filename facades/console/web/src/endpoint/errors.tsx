/** Errors of the newest failed jobs, those that differ in numbers and ids only taken together, which can be run again together. */
import { useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { ApiError, ask } from '../api.ts';
import { errorText } from '../error-text.ts';
import { Badge, Empty, Failed, Loading, Panel } from '../parts.tsx';
import { useSession } from '../session.tsx';
import { counted } from '../words.ts';
import { listJobs } from './job-list.ts';
import type { ListedJob } from './job-list.ts';

const JOBS_MAX = 200;
/** One that was run again meanwhile, or is no more. */
const GONE = [400, 404];

/** The part. */
export function Errors({ id, failed }: { id: string; failed: number }) {
  const { data, error, refetch } = useQuery({
    // Asked again when one more has failed.
    queryKey: ['errors', id, failed],
    queryFn: async () => {
      const pages = await Promise.all(['FAILED', 'TIMED_OUT'].map((status) => listJobs(id, { status, limit: JOBS_MAX })));
      return { jobs: pages.flatMap(({ requests }) => requests), isAll: pages.every(({ hasMore }) => !hasMore) };
    },
  });
  const { jobs: may } = useSession();
  const [told, setTold] = useState('');
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const groups = grouped(data.jobs);
  const runAgain = async (jobs: readonly ListedJob[]): Promise<void> => {
    setTold('Queueing …');
    const { queued, failure } = await retried(id, jobs);
    setTold(`${counted(queued, 'job')} of ${jobs.length} queued again.${failure}`);
    await refetch();
  };
  const of = data.isAll ? 'of all failed jobs that are kept' : `of the newest ${data.jobs.length} failed jobs; there are more`;
  return (
    <Panel title="Errors" aside={<><span role="status">{told}</span> {of}</>}>
      {groups.length === 0 ? <Empty title="No failed job is kept.">They are kept for half an hour after they ended.</Empty> : (
        <ul className="problems">
          {groups.map(([text, jobs]) => (
            <li key={text}>
              <Badge word={`${jobs.length} ×`} tone="bad" /> <Link href={`/endpoints/${id}/jobs/${jobs[0]!.id}`}>the latest</Link>{' '}
              {may === 'write' && <button type="button" onClick={() => void runAgain(jobs)}>Run {jobs.length === 1 ? 'it' : 'these'} again</button>}
              <pre className="viewer" tabIndex={0}>{errorText(jobs[0]!.error ?? jobs[0]!.status).whole}</pre>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** One after the other, until one is refused for a reason that holds for all. */
async function retried(id: string, jobs: readonly ListedJob[]): Promise<{ queued: number; failure: string }> {
  let queued = 0;
  for (const job of jobs) {
    try {
      await ask('POST', `/api/v2/${id}/retry/${job.id}`, {});
      queued += 1;
    } catch (error) {
      if (!(error instanceof ApiError && GONE.includes(error.status))) return { queued, failure: ` ${(error as Error).message}` };
    }
  }
  return { queued, failure: '' };
}

/** The most frequent first. */
function grouped(jobs: readonly ListedJob[]): [string, ListedJob[]][] {
  const groups = new Map<string, ListedJob[]>();
  for (const job of jobs) {
    const text = errorText(job.error ?? job.status).message.replaceAll(/[0-9a-f]{8,}|\d+(\.\d+)?/g, '#').slice(0, 500);
    groups.set(text, [...groups.get(text) ?? [], job]);
  }
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}
