/** The jobs of an endpoint, filtered, ordered and paged by core. */

import type { FormEvent } from 'react';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { JobsView } from '../../../../views-of-jobs.ts';
import { ask } from '../../lib/api.ts';
import { count } from '../../lib/format.ts';
import { useSession } from '../../lib/session.tsx';
import { useLive } from '../../lib/use-live.ts';
import { More } from '../../listing/listing-parts.tsx';
import { usePages } from '../../listing/use-pages.ts';
import { Away, Failed, Loading, Panel } from '../../ui/parts.tsx';
import { CancelJobs } from './cancel-jobs.tsx';
import { FilterFields, useJobFilter } from './job-filter.tsx';
import type { JobOrder } from './job-list.ts';
import { jobsFeed } from './job-list.ts';
import { JobRows } from './job-rows.tsx';
import { ManyJobs } from './many-jobs.tsx';

/** Labels of the buttons to the previous and next page, by order. */
const WAYS: Readonly<Partial<Record<JobOrder, readonly [back: string, on: string]>>> = {
  newest: ['Newer', 'Older'],
  oldest: ['Older', 'Newer'],
};

/** Shows the tab. */
export function Jobs({ id }: { id: string }) {
  const filter = useJobFilter();
  const { order, key, set } = filter;
  const { cursors, go } = usePages(key);
  const cursor = cursors.at(-1)!;
  const { chosen, choose, summary, done, result } = useChosen(`${key} ${cursor}`);
  // A page with selected jobs does not change.
  const { view: data, isOld, away, ended } = useLive<JobsView>(jobsFeed(id, filter, cursor), chosen.size > 0);
  const [back, on] = WAYS[order] ?? ['Longer', 'Shorter'];
  const mayChoose = useSession().jobs === 'write';
  return (
    <Panel
      title="Jobs"
      aside={
        data && (
          <span>
            {count(data.total)}
            {data.totalCapped ? ' and more' : ''} kept
          </span>
        )
      }
    >
      <div className="tools">
        <FilterFields filter={filter} />
        <Find id={id} />
        <Purge id={id} />
        {mayChoose && <ManyJobs id={id} filter={filter} onDone={done} />}
        {chosen.size > 0 && <CancelJobs id={id} jobs={[...chosen]} onDone={done} />}
        <span ref={result} role="status" tabIndex={-1} className="hint">
          {summary}
        </span>
      </div>
      {data && <Away text={away} />}
      {ended ? (
        <Failed error={ended} />
      ) : !data ? (
        <Loading away={away} />
      ) : (
        <JobRows
          id={id}
          page={data}
          isOld={isOld}
          seenMs={data.nowMs}
          order={order}
          sort={(next) => set({ order: next === 'newest' ? '' : next })}
          {...(mayChoose ? { chosen, choose } : {})}
        />
      )}
      {WAYS[order] === undefined && (
        <p className="hint body">The longest of the newest 1,000 that match: no index has all jobs in this order.</p>
      )}
      {data && (cursors.length > 1 || data.hasMore) && (
        <div className="more">
          <button type="button" disabled={cursors.length === 1} onClick={() => go(cursors.slice(0, -1))}>
            {back}
          </button>
          <More isOld={isOld} hasMore={data.hasMore} onClick={() => go([...cursors, data.nextCursor])}>
            {on}
          </More>
          <span className="hint">page {cursors.length}</span>
        </div>
      )}
    </Panel>
  );
}

/** Holds the selected jobs of a page, and the summary of the last action. */
function useChosen(page: string) {
  const [{ of, ids }, setChosen] = useState<{ of: string; ids: ReadonlySet<string> }>({ of: page, ids: new Set() });
  const [summary, setSummary] = useState('');
  const result = useRef<HTMLSpanElement>(null);
  const done = (text: string): void => {
    setSummary(text);
    setChosen({ of: page, ids: new Set() });
  };
  // The button that had the focus is removed with the dialog.
  useEffect(() => {
    if (summary !== '') result.current?.focus();
  }, [summary]);
  // A selection on another page is invisible, and its jobs may have ended since.
  useEffect(() => setChosen({ of: page, ids: new Set() }), [page]);
  const choose = (next: ReadonlySet<string>): void => {
    setChosen({ of: page, ids: next });
    setSummary('');
  };
  return { chosen: of === page ? ids : new Set<string>(), choose, summary, done, result };
}

/** Opens a job by its id. */
function Find({ id }: { id: string }) {
  const [, go] = useLocation();
  const find = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const job = String(new FormData(event.currentTarget).get('job') ?? '').trim();
    if (job !== '') go(`/endpoints/${id}/jobs/${encodeURIComponent(job)}`);
  };
  return (
    <form className="find" onSubmit={find}>
      <label htmlFor="job">Job</label> <input id="job" name="job" placeholder="its id, then Enter" />
    </form>
  );
}

/** Empties the queue after a question, because it cannot be undone. */
function Purge({ id }: { id: string }) {
  const { jobs } = useSession();
  const [isAsked, setIsAsked] = useState(false);
  const [summary, setSummary] = useState('');
  if (jobs !== 'write') return null;
  const purge = async (): Promise<void> => {
    setIsAsked(false);
    const text = await ask<{ removed: number }>('POST', `/api/v2/${id}/purge-queue`, {}).then(
      ({ removed }) => `${removed} removed.`,
      (error: Error) => error.message,
    );
    setSummary(text);
  };
  return (
    <>
      {isAsked ? (
        <>
          <span>Remove all queued jobs?</span>
          <button type="button" className="danger" onClick={() => void purge()}>
            Remove them
          </button>
          <button type="button" onClick={() => setIsAsked(false)}>
            Keep them
          </button>
        </>
      ) : (
        <button type="button" onClick={() => setIsAsked(true)}>
          Empty the queue …
        </button>
      )}
      <span role="status" className="hint">
        {summary}
      </span>
    </>
  );
}
