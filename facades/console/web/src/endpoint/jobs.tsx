/** The jobs of an endpoint, filtered, ordered and paged by core. */
import { useState } from 'react';
import type { FormEvent } from 'react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { ask } from '../api.ts';
import { errorText } from '../error-text.ts';
import { Badge, Empty, Failed, Loading, Panel } from '../parts.tsx';
import { useSession } from '../session.tsx';
import { count, recently, span } from '../words.ts';
import { listJobs, STATES } from './job-list.ts';
import type { JobOrder, JobPage, ListedJob } from './job-list.ts';

/** The part. */
export function Jobs({ id }: { id: string }) {
  const [status, setStatus] = useState('');
  const [order, setOrder] = useState<JobOrder>('newest');
  // Where each page begins; the last is the one that is shown.
  const [cursors, setCursors] = useState(['']);
  const cursor = cursors.at(-1)!;
  const { data, error, refetch, isFetching, dataUpdatedAt } = useQuery({
    queryKey: ['jobs', id, status, order, cursor], queryFn: () => listJobs(id, { status, order, cursor }), placeholderData: keepPreviousData,
    // Jobs come and go at the front; a page further down stands still.
    refetchInterval: cursor === '' ? 5_000 : false,
  });
  const choose = (next: string): void => { setStatus(next); setCursors(['']); };
  const sort = (next: JobOrder): void => { setOrder(next); setCursors(['']); };
  const isByTime = order === 'newest' || order === 'oldest';
  const [back, on] = order === 'newest' ? ['Newer', 'Older'] : order === 'oldest' ? ['Older', 'Newer'] : ['Longer', 'Shorter'];
  return (
    <Panel title="Jobs" aside={data && <span>{count(data.total)}{data.totalCapped ? ' and more' : ''} kept</span>}>
      <div className="tools">
        <label htmlFor="status">State</label>
        <select id="status" value={status} onChange={({ target }) => choose(target.value)}>
          <option value="">all</option>
          {STATES.map((state) => <option key={state} value={state}>{state.toLowerCase().replaceAll('_', ' ')}</option>)}
        </select>
        <button type="button" onClick={() => void refetch()} disabled={isFetching}>Look again</button>
        <Find id={id} />
        <Purge id={id} />
      </div>
      {error ? <Failed error={error} again={() => void refetch()} /> : !data ? <Loading /> : (
        <Rows id={id} page={data} seenMs={dataUpdatedAt} order={order} sort={sort} />
      )}
      {!isByTime && <p className="hint body">The longest of the newest 1,000 that fit: among millions no index has all in this order.</p>}
      {data && (cursors.length > 1 || data.hasMore) && (
        <div className="more">
          <button type="button" disabled={cursors.length === 1} onClick={() => setCursors(cursors.slice(0, -1))}>{back}</button>
          <button type="button" disabled={!data.hasMore} onClick={() => setCursors([...cursors, data.nextCursor ?? ''])}>{on}</button>
          <span className="hint">page {cursors.length}</span>
        </div>
      )}
    </Panel>
  );
}

/** Among millions of jobs one is found by its id alone. */
function Find({ id }: { id: string }) {
  const [, go] = useLocation();
  const find = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const job = String(new FormData(event.currentTarget).get('job') ?? '').trim();
    if (job !== '') go(`/endpoints/${id}/jobs/${encodeURIComponent(job)}`);
  };
  return <form className="find" onSubmit={find}><label htmlFor="job">Job</label> <input id="job" name="job" placeholder="its id, then Enter" /></form>;
}

function Rows({ id, page: { requests }, seenMs, order, sort }: {
  id: string; page: JobPage; seenMs: number; order: JobOrder; sort: (order: JobOrder) => void;
}) {
  if (requests.length === 0) return <Empty title="No job is kept that fits.">Results are kept for half an hour after a job ends.</Empty>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Jobs, scrolls sideways">
      <table className="rows">
        <thead><tr>
          <th>Job</th><th>State</th>
          <th aria-sort={order === 'newest' ? 'descending' : order === 'oldest' ? 'ascending' : 'none'}>
            <button type="button" onClick={() => sort(order === 'newest' ? 'oldest' : 'newest')}>
              Submitted{order === 'newest' ? ' ↓' : order === 'oldest' ? ' ↑' : ''}
            </button>
          </th>
          <Longest text="Waited" by="longest-delay" order={order} sort={sort} /><Longest text="Ran" by="longest-execution" order={order} sort={sort} />
          <th className="right">Put back</th>
          <th>Worker</th>
          <th>Error</th>
        </tr></thead>
        <tbody>{requests.map((job) => <Row key={job.id} id={id} job={job} seenMs={seenMs} />)}</tbody>
      </table>
    </div>
  );
}

function Longest({ text, by, order, sort }: { text: string; by: JobOrder; order: JobOrder; sort: (order: JobOrder) => void }) {
  return (
    <th className="right" aria-sort={order === by ? 'descending' : 'none'}>
      <button type="button" onClick={() => sort(by)}>{text}{order === by ? ' ↓' : ''}</button>
    </th>
  );
}

function Row({ id, job, seenMs }: { id: string; job: ListedJob; seenMs: number }) {
  const submittedMs = Date.parse(job.submittedAt);
  // Of what goes on; by the browser's clock, which is about right.
  const soFar = (sinceMs: number): string => `${span(Math.max(0, seenMs - sinceMs))}\u00A0…`;
  const error = job.error === undefined ? '' : errorText(job.error).message;
  return (
    <tr>
      <th scope="row"><Link href={`/endpoints/${id}/jobs/${job.id}`}><code>{job.id}</code></Link></th>
      <td><Badge word={job.status} /></td>
      <td>{recently(submittedMs)}</td>
      <td className="right number">{job.delayTime === undefined && job.status === 'IN_QUEUE' ? soFar(submittedMs) : span(job.delayTime)}</td>
      <td className="right number">{job.status === 'IN_PROGRESS' ? soFar(submittedMs + (job.delayTime ?? 0)) : span(job.executionTime)}</td>
      <td className="right number">{job.retries ?? 0}</td>
      <td><code>{job.workerId ?? '–'}</code></td>
      <td className="error" title={error}>{error.slice(0, 120)}</td>
    </tr>
  );
}

/** Empties the queue; asks first, because nothing brings those jobs back. */
function Purge({ id }: { id: string }) {
  const { jobs } = useSession();
  const queries = useQueryClient();
  const [isAsked, setIsAsked] = useState(false);
  const [told, setTold] = useState('');
  if (jobs !== 'write') return null;
  const purge = async (): Promise<void> => {
    setIsAsked(false);
    const text = await ask<{ removed: number }>('POST', `/api/v2/${id}/purge-queue`, {})
      .then(({ removed }) => `${removed} removed.`, (error: Error) => error.message);
    setTold(text);
    await queries.invalidateQueries({ queryKey: ['jobs', id] });
  };
  return (
    <>
      {isAsked
        ? <><span>Remove all jobs that wait?</span><button type="button" className="danger" onClick={() => void purge()}>Remove them</button>
          <button type="button" onClick={() => setIsAsked(false)}>Keep them</button></>
        : <button type="button" onClick={() => setIsAsked(true)}>Empty the queue …</button>}
      <span role="status" className="hint">{told}</span>
    </>
  );
}
