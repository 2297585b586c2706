/** Errors of the newest failed jobs, those that differ in numbers and ids only taken together; and how workers ended. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { errorText } from '../error-text.ts';
import { Badge, Empty, Failed, Loading, Panel } from '../parts.tsx';
import { listJobs } from './job-list.ts';
import type { ListedJob } from './job-list.ts';

const JOBS_MAX = 200;

/** The part. */
export function Errors({ id, failed }: { id: string; failed: number }) {
  const { data, error, refetch } = useQuery({
    // Asked again when one more has failed.
    queryKey: ['errors', id, failed],
    queryFn: async () => {
      const pages = await Promise.all(['FAILED', 'TIMED_OUT'].map((status) => listJobs(id, { status, limit: JOBS_MAX })));
      return pages.flatMap(({ requests }) => requests);
    },
  });
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const groups = grouped(data);
  return (
    <Panel title="Errors" aside="of the newest failed jobs that are kept">
      {groups.length === 0 ? <Empty title="No failed job is kept.">They are kept for half an hour after they ended.</Empty> : (
        <ul className="problems">
          {groups.map(([text, jobs]) => (
            <li key={text}>
              <Badge word={`${jobs.length} ×`} tone="bad" /> <Link href={`/endpoints/${id}/jobs/${jobs[0]!.id}`}>the latest</Link>
              <pre className="viewer" tabIndex={0}>{errorText(jobs[0]!.error ?? jobs[0]!.status).whole}</pre>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
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
