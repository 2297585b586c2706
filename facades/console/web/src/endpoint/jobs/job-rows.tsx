/** The table of jobs: state and result of each, sortable columns, checkboxes. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { JobRow } from '../../../../views-of-jobs.ts';
import { Badge, Empty } from '../../ui/parts.tsx';
import { JobError, JobTimes } from './job-cells.tsx';
import type { JobOrder, JobPage } from './job-list.ts';

interface JobRowsProps {
  id: string;
  page: JobPage;
  /** True if the rows still match the previous filter: they cannot be selected. */
  isOld: boolean;
  seenMs: number;
  order: JobOrder;
  sort: (order: JobOrder) => void;
  /** The selected jobs, if jobs can be selected. */
  chosen?: ReadonlySet<string>;
  choose?: (next: ReadonlySet<string>) => void;
}

/** Shows the table. */
export function JobRows({ id, page: { requests }, isOld, seenMs, order, sort, chosen, choose }: JobRowsProps) {
  if (requests.length === 0)
    return <Empty title="No job matches.">Results are kept for half an hour after a job ends.</Empty>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Jobs, scrolls sideways" aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            {chosen && choose && (
              <th className="pick">
                <ChooseAll
                  jobs={isOld ? [] : requests.filter(canEnd).map((job) => job.id)}
                  chosen={chosen}
                  choose={choose}
                />
              </th>
            )}
            <th>Job</th>
            <th>State</th>
            <th aria-sort={order === 'newest' ? 'descending' : order === 'oldest' ? 'ascending' : 'none'}>
              <button type="button" onClick={() => sort(order === 'newest' ? 'oldest' : 'newest')}>
                Submitted{order === 'newest' ? ' ↓' : order === 'oldest' ? ' ↑' : ''}
              </button>
            </th>
            <Longest text="Waited" by="longest-delay" order={order} sort={sort} />
            <Longest text="Ran" by="longest-execution" order={order} sort={sort} />
            <th>Error</th>
            <th className="right">Requeued</th>
            <th>Worker</th>
          </tr>
        </thead>
        <tbody>
          {requests.map((job) => (
            <Row key={job.id} id={id} job={job} seenMs={seenMs}>
              {chosen && choose && <Choose job={job} isOld={isOld} chosen={chosen} choose={choose} />}
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Longest({
  text,
  by,
  order,
  sort,
}: {
  text: string;
  by: JobOrder;
  order: JobOrder;
  sort: (order: JobOrder) => void;
}) {
  return (
    <th className="right" aria-sort={order === by ? 'descending' : 'none'}>
      <button type="button" onClick={() => sort(by)}>
        {text}
        {order === by ? ' ↓' : ''}
      </button>
    </th>
  );
}

/** Selects all jobs of the page that have not ended. */
function ChooseAll({
  jobs,
  chosen,
  choose,
}: {
  jobs: readonly string[];
  chosen: ReadonlySet<string>;
  choose: (next: ReadonlySet<string>) => void;
}) {
  const isAll = jobs.length > 0 && jobs.every((job) => chosen.has(job));
  return (
    <input
      type="checkbox"
      aria-label="Select all on this page that have not ended"
      disabled={jobs.length === 0}
      checked={isAll}
      ref={(box) => {
        if (box) box.indeterminate = chosen.size > 0 && !isAll;
      }}
      onChange={() => choose(new Set(isAll ? [] : jobs))}
    />
  );
}

function Choose({
  job,
  isOld,
  chosen,
  choose,
}: {
  job: JobRow;
  isOld: boolean;
  chosen: ReadonlySet<string>;
  choose: (next: ReadonlySet<string>) => void;
}) {
  const toggle = (): void => {
    const next = new Set(chosen);
    if (!next.delete(job.id)) next.add(job.id);
    choose(next);
  };
  return (
    <td className="pick">
      {(canEnd(job) || chosen.has(job.id)) && (
        <input
          type="checkbox"
          aria-label={`Select ${job.id}`}
          disabled={isOld}
          checked={chosen.has(job.id)}
          onChange={toggle}
        />
      )}
    </td>
  );
}

function canEnd({ status }: JobRow): boolean {
  return status === 'IN_QUEUE' || status === 'IN_PROGRESS';
}

function Row({ id, job, seenMs, children }: { id: string; job: JobRow; seenMs: number; children?: ReactNode }) {
  return (
    <tr>
      {children}
      <th scope="row">
        <Link href={`/endpoints/${id}/jobs/${job.id}`}>
          <code className="short" title={job.id}>
            {job.id}
          </code>
        </Link>
      </th>
      <td>
        <Badge word={job.status} />
      </td>
      <JobTimes job={job} nowMs={seenMs} />
      <JobError job={job} />
      <td className="right number">{job.retries ?? 0}</td>
      <td>
        <code>{job.workerId ?? '–'}</code>
      </td>
    </tr>
  );
}
