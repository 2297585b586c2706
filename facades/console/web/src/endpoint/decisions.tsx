/** What the scaler decided and why: what changed something, or gave another reason than before. */
import { useRef, useState } from 'react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { DECISIONS_PAGE } from '../../../views.ts';
import type { DecisionView, EndpointView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Chart } from '../chart.tsx';
import { Filters, namesOf, Search, YES_NO } from '../listing-parts.tsx';
import type { Filter } from '../listing-parts.tsx';
import { Badge, Empty, Failed, Loading, Overdue, Panel } from '../parts.tsx';
import { useListing } from '../use-listing.ts';
import { moment, span, unbroken } from '../words.ts';

/** What decisions can be filtered by; what is looked for is in their reasons. */
const FILTERS: readonly Filter[] = [
  { name: 'filter.acts', text: 'Starts or ends workers', choices: YES_NO },
  {
    name: 'filter.limit', text: 'Cut by',
    choices: [
      ['WORKERS_MAX', 'workersMax'], ['QUOTA', 'the account’s quota'], ['NO_PLACE', 'no place'], ['FAIR_SHARE', 'fair share'],
      ['KEPT_GPUS', 'GPUs kept for others'], ['GAVE_WAY', 'giving way'], ['AT_ONCE', 'starts at once'],
    ],
  },
];
/** Those that are looked for are read anew so often, in milliseconds. */
const LOOK_MS = 10_000;

/** The part. */
export function Decisions({ view: { decisions: latest, nowMs, row } }: { view: EndpointView }) {
  const listing = useListing({}, namesOf(FILTERS));
  const { decisions, hasMore, failure, showEarlier } = useDecisions(row.id, latest);
  const oldFirst = decisions.toReversed();
  const there = row.workers.idle + row.workers.running + row.workers.initializing;
  if (decisions.length === 0) return <Panel title="Decisions"><Empty title="Nothing was decided in the last seven days." /></Panel>;
  return (
    <>
      <Panel title="Wished, decided and present">
        <Chart label="Workers that the scaler wished for, decided on and had" times={[...oldFirst.map(({ atMs }) => atMs), nowMs]} series={[
          { label: 'wished', colour: '--queue', values: [...oldFirst.map(({ wished }) => wished), oldFirst.at(-1)!.wished] },
          { label: 'decided', colour: '--run', values: [...oldFirst.map(({ target }) => target), oldFirst.at(-1)!.target] },
          { label: 'present', colour: '--good', values: [...oldFirst.map(({ present }) => present), there] },
        ]} />
      </Panel>
      <Panel title="Decisions, latest first">
        <Search listing={listing}><Filters listing={listing} filters={FILTERS} /></Search>
        {listing.isNarrowed ? <Found id={row.id} query={listing.query} /> : (
          <>
            <List decisions={decisions} />
            {failure !== undefined ? <Failed error={failure} again={showEarlier} /> : hasMore && <Earlier show={showEarlier} />}
          </>
        )}
      </Panel>
    </>
  );
}

function List({ decisions }: { decisions: readonly DecisionView[] }) {
  return (
    <ol className="decisions" tabIndex={0} aria-label="Decisions, latest first">
      {decisions.map((decision) => <Decision key={decision.id} decision={decision} />)}
    </ol>
  );
}

function Earlier({ show, isBusy = false }: { show: () => void; isBusy?: boolean }) {
  return <div className="more"><button type="button" disabled={isBusy} onClick={show}>Show earlier ones</button></div>;
}

/** Those of all that are kept which are looked for. */
function Found({ id, query }: { id: string; query: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, failureReason, isPlaceholderData } = useInfiniteQuery({
    queryKey: ['decisions', id, query], initialPageParam: 0, placeholderData: keepPreviousData, refetchInterval: LOOK_MS,
    queryFn: ({ pageParam }) => ask<DecisionView[]>('GET', `/api/endpoints/${id}/decisions?before=${pageParam}&${query}`),
    getNextPageParam: (page) => (page.length < DECISIONS_PAGE ? undefined : page.at(-1)!.id),
  });
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const decisions = data.pages.flat();
  return (
    <>
      <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />
      {decisions.length === 0 ? <Empty title="None has that in it." /> : <List decisions={decisions} />}
      {hasNextPage && <Earlier show={() => void fetchNextPage()} isBusy={isFetchingNextPage} />}
    </>
  );
}

/** The latest as they come, and those before them that were asked for. */
function useDecisions(id: string, latest: readonly DecisionView[]) {
  const kept = useRef<readonly DecisionView[]>([]);
  const hasMore = useRef(latest.length >= DECISIONS_PAGE);
  const [failure, setFailure] = useState<unknown>();
  const [, setShown] = useState(0);
  const oldest = latest.at(-1)?.id ?? 0;
  // What has gone by unseen since, as while the tab was hidden, would be a gap: then all begins anew.
  const isGap = (kept.current[0]?.id ?? oldest) < oldest;
  if (isGap) hasMore.current = true;
  kept.current = isGap ? latest : [...latest, ...kept.current.filter((decision) => decision.id < oldest)];
  const showEarlier = (): void => {
    ask<DecisionView[]>('GET', `/api/endpoints/${id}/decisions?before=${kept.current.at(-1)!.id}`).then((earlier) => {
      const last = kept.current.at(-1)!.id;
      kept.current = [...kept.current, ...earlier.filter((decision) => decision.id < last)];
      hasMore.current = earlier.length >= DECISIONS_PAGE;
      setFailure(undefined);
      setShown(kept.current.length);
    }, setFailure);
  };
  return { decisions: kept.current, hasMore: hasMore.current, failure, showEarlier };
}

function Decision({ decision }: { decision: DecisionView }) {
  const { atMs, target, wished, present, throttled, queued, running, oldestWaitMs, reason, limits, actions } = decision;
  return (
    <li>
      <time dateTime={new Date(atMs).toISOString()}>{moment(atMs)}</time>{' '}
      <strong>{present} → {target} workers</strong>{' '}
      {wished > target && <Badge word={`wished ${wished}`} tone="warn" />} {throttled > 0 && <Badge word={`${throttled} without a place`} tone="bad" />}
      <p>{unbroken(reason)}</p>
      {limits.map((text) => <p key={text} className="hint">{unbroken(text)}</p>)}
      <p className="hint">
        {queued} waited{queued > 0 ? `, the first for ${span(oldestWaitMs)}` : ''} · {running} ran{actions.length > 0 ? ` · ${actions.join(', ')}` : ''}
      </p>
    </li>
  );
}
