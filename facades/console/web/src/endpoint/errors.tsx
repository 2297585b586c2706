/**
 * The Errors tab: recent errors of jobs. Core groups errors that differ only in numbers and ids; a group's jobs can be
 * run again.
 */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { ErrorGroupView, ErrorsView } from '../../../views-of-errors.ts';
import { ask } from '../lib/api.ts';
import { ago, count, counted } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { plainText } from '../lib/worker-text.ts';
import { Badge, Empty, Failed, Loading, Overdue, Panel } from '../ui/parts.tsx';
import type { RunAgain } from './run-again.tsx';
import { useRunAgain } from './run-again.tsx';

/** Ranges of time that can be chosen, in minutes. */
const SPANS = [
  [15, '15 minutes'],
  [60, 'hour'],
  [1_440, 'day'],
  [10_080, '7 days'],
] as const;
const SPAN = 1_440;

/** Shows the tab. */
export function Errors({ id, failed }: { id: string; failed: number }) {
  const [minutes, setMinutes] = useState<number>(SPAN);
  const { data, error, refetch, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['errors', id, minutes],
    queryFn: async () => ({
      failed,
      ...(await ask<ErrorsView>('GET', `/api/endpoints/${id}/errors?minutes=${minutes}`)),
    }),
    // Refreshed when more jobs have failed, but not for each.
    refetchInterval: ({ state: { data: seen } }) => (seen && seen.failed !== failed ? 5_000 : false),
    placeholderData: keepPreviousData,
  });
  const { runAgain, line } = useRunAgain(id, minutes, () => void refetch());
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const choice = (
    <label>
      of the last{' '}
      <select value={minutes} onChange={({ target }) => setMinutes(Number(target.value))}>
        {SPANS.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Panel title="Errors" aside={choice}>
      <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />
      <p className="body hint">
        {ofJobs(data)} {line}
      </p>
      {data.groups.length === 0 ? (
        <Empty title="No failed job is kept from this time.">They are kept for half an hour after they ended.</Empty>
      ) : (
        <ul className="problems">
          {data.groups.map((group) => (
            <Group key={group.id} id={id} group={group} nowMs={data.nowMs} hasMore={data.hasMore} runAgain={runAgain} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** Returns how many jobs the groups cover, and whether these are all. */
function ofJobs({ jobs, groupCount, groups, hasMore }: ErrorsView): string {
  if (jobs === 0) return '';
  const shown = groups.length < groupCount ? ` The ${groups.length} largest of ${count(groupCount)} groups.` : '';
  const failed = counted(jobs, 'failed job');
  if (hasMore) return `The newest ${failed}; there are more.${shown}`;
  return jobs === 1
    ? 'The only failed job of this time that is kept.'
    : `All ${failed} of this time that are kept.${shown}`;
}

function Group({
  id,
  group,
  nowMs,
  hasMore,
  runAgain,
}: {
  id: string;
  group: ErrorGroupView;
  nowMs: number;
  hasMore: boolean;
  runAgain: RunAgain['runAgain'];
}) {
  const {
    jobs,
    firstMs,
    lastMs,
    jobIds: [latest = '', ...others],
    sample,
  } = group;
  const may = useSession().jobs === 'write';
  const again = (): void => void runAgain?.({ id: group.id, jobs: `${hasMore ? 'at least ' : ''}${count(jobs)}` });
  const link = (job: string, text: string) => (
    <Link key={job} href={`/endpoints/${id}/jobs/${job}`}>
      {text}
    </Link>
  );
  return (
    <li>
      <Badge word={`${count(jobs)} ×`} tone="bad" /> {link(latest, 'latest job')}{' '}
      <span className="hint">
        {jobs === 1 ? ago(lastMs, nowMs) : `first ${ago(firstMs, nowMs)}, last ${ago(lastMs, nowMs)}`}
      </span>{' '}
      {may && (
        <button type="button" disabled={!runAgain} onClick={again}>
          Run {jobs === 1 ? 'it' : 'these'} again
        </button>
      )}
      <pre className="viewer" tabIndex={0}>
        {plainText(sample)}
      </pre>
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? 'The one before it' : `The ${others.length} before it`}</summary>
          <p className="choices">{others.map((job) => link(job, job))}</p>
        </details>
      )}
    </li>
  );
}
