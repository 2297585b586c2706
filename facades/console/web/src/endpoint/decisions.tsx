/** The Decisions tab: scaling decisions that changed something or had a new reason. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { DecisionView, EndpointView, Sample } from '../../../views.ts';
import { DECISIONS_PAGE } from '../../../views.ts';
import { Chart } from '../charts/chart.tsx';
import { ask } from '../lib/api.ts';
import { coreText } from '../lib/core-text.ts';
import { counted, moment, span } from '../lib/format.ts';
import { useLive } from '../lib/use-live.ts';
import type { Filter } from '../listing/listing-parts.tsx';
import { Filters, namesOf, Search, YES_NO } from '../listing/listing-parts.tsx';
import { useListing } from '../listing/use-listing.ts';
import { Away, Badge, Empty, Failed, Loading, Panel } from '../ui/parts.tsx';

/** Filters of decisions. The search looks in their reasons. */
const FILTERS: readonly Filter[] = [
  { name: 'filter.acts', text: 'Starts or ends workers', choices: YES_NO },
  {
    name: 'filter.limit',
    text: 'Limited by',
    choices: [
      ['WORKERS_MAX', 'most workers'],
      ['QUOTA', 'the account’s quota'],
      ['NO_PLACE', 'no capacity'],
      ['FAIR_SHARE', 'fair share'],
      ['KEPT_GPUS', 'reserved GPUs'],
      ['GAVE_WAY', 'preemption'],
      ['AT_ONCE', 'simultaneous starts'],
    ],
  },
];

/** Length of the history of present workers in minutes: as long as it is kept. */
const HISTORY_MINUTES = 720;
/** Core samples every ten seconds. */
const HISTORY_PACE_MS = 10_000;

/** Shows the tab. */
export function Decisions({ view: { decisions: latest, nowMs, row } }: { view: EndpointView }) {
  const listing = useListing({}, namesOf(FILTERS));
  const { decisions, ...earlier } = useDecisions(row.id, latest);
  if (decisions.length === 0)
    return (
      <Panel title="Decisions">
        <Empty title="No decision in the last seven days." />
      </Panel>
    );
  return (
    <>
      <Panel title="Wanted, decided and present">
        <WorkersChart id={row.id} decisions={decisions} nowMs={nowMs} />
      </Panel>
      <Panel title="Decisions, latest first">
        <Search listing={listing}>
          <Filters listing={listing} filters={FILTERS} />
        </Search>
        {listing.isNarrowed ? <Found id={row.id} query={listing.query} /> : <List decisions={decisions} {...earlier} />}
      </Panel>
    </>
  );
}

/** Shows the wanted and decided workers, which hold until the next decision, and the sampled number of workers. */
function WorkersChart({ id, decisions, nowMs }: { id: string; decisions: readonly DecisionView[]; nowMs: number }) {
  const { data: samples = [] } = useQuery({
    queryKey: ['history', id],
    queryFn: () => ask<readonly Sample[]>('GET', `/api/endpoints/${id}/history?minutes=${HISTORY_MINUTES}`),
    placeholderData: keepPreviousData,
    refetchInterval: HISTORY_PACE_MS,
  });
  const oldFirst = decisions.toReversed();
  const times = [...new Set([...oldFirst.map(({ atMs }) => atMs), ...samples.map(([atMs]) => atMs), nowMs])]
    .filter((atMs) => atMs >= oldFirst[0]!.atMs && atMs <= nowMs)
    .sort((a, b) => a - b);
  const decided = heldAt(times, oldFirst, ({ atMs }) => atMs);
  const sampled = heldAt(times, samples, ([atMs]) => atMs);
  return (
    <Chart
      label="Workers that the scaler wanted, decided on and had"
      times={times}
      series={[
        { label: 'wanted', colour: '--queue', values: decided.map((decision) => decision?.wished ?? null) },
        { label: 'decided', colour: '--run', values: decided.map((decision) => decision?.target ?? null) },
        {
          label: 'present',
          colour: '--good',
          values: sampled.map((sample) => sample?.[3] ?? null),
        },
      ]}
    />
  );
}

/** Returns for each time the latest entry until then. Both are ascending. */
function heldAt<Entry>(
  times: readonly number[],
  entries: readonly Entry[],
  timeOf: (entry: Entry) => number,
): (Entry | undefined)[] {
  let next = 0;
  return times.map((atMs) => {
    while (next < entries.length && timeOf(entries[next]!) <= atMs) next += 1;
    return entries[next - 1];
  });
}

function List({ decisions, hasMore, failure, showEarlier }: ReturnType<typeof useDecisions>) {
  return (
    <>
      <ol className="decisions" tabIndex={0} aria-label="Decisions, latest first">
        {decisions.map((decision) => (
          <Decision key={decision.id} decision={decision} />
        ))}
      </ol>
      {failure !== undefined ? (
        <Failed error={failure} again={showEarlier} />
      ) : (
        hasMore && (
          <div className="more">
            <button type="button" onClick={showEarlier}>
              Show earlier decisions
            </button>
          </div>
        )
      )}
    </>
  );
}

/** Shows the stored decisions that match the search and the filters. */
function Found({ id, query }: { id: string; query: string }) {
  const { view, isOld, away, ended } = useLive<readonly DecisionView[]>(
    `?${new URLSearchParams({ endpoint: id, part: 'decisions' })}&${query}`,
  );
  // The previous result stays until the new one arrives.
  const shown = useRef(query);
  if (!isOld) shown.current = query;
  return (
    <>
      {view && <Away text={away} />}
      {ended ? (
        <Failed error={ended} />
      ) : !view ? (
        <Loading away={away} />
      ) : (
        <div aria-busy={isOld}>
          <FoundList id={id} query={shown.current} latest={view} />
        </div>
      )}
    </>
  );
}

function FoundList({ id, query, latest }: { id: string; query: string; latest: readonly DecisionView[] }) {
  const found = useDecisions(id, latest, query);
  return found.decisions.length === 0 ? <Empty title="Nothing matches." /> : <List {...found} />;
}

/** Returns the latest decisions as they arrive, followed by earlier ones that were loaded. `query` is the search. */
function useDecisions(id: string, latest: readonly DecisionView[], query = '') {
  const kept = useRef({ query, decisions: latest, hasMore: latest.length >= DECISIONS_PAGE });
  const [failure, setFailure] = useState<unknown>();
  const [, setShown] = useState(0);
  const oldest = latest.at(-1)?.id ?? 0;
  const before = kept.current;
  // Decisions missed while the tab was hidden would be a gap: then the list starts again.
  const isGap = (before.decisions[0]?.id ?? oldest) < oldest;
  kept.current =
    before.query !== query || isGap
      ? { query, decisions: latest, hasMore: latest.length >= DECISIONS_PAGE }
      : { ...before, decisions: [...latest, ...before.decisions.filter((decision) => decision.id < oldest)] };
  const showEarlier = (): void => {
    ask<DecisionView[]>(
      'GET',
      `/api/endpoints/${id}/decisions?before=${kept.current.decisions.at(-1)!.id}&${query}`,
    ).then((earlier) => {
      const { decisions } = kept.current;
      // The search has changed.
      if (kept.current.query !== query) return;
      const last = decisions.at(-1)!.id;
      kept.current = {
        query,
        decisions: [...decisions, ...earlier.filter((decision) => decision.id < last)],
        hasMore: earlier.length >= DECISIONS_PAGE,
      };
      setFailure(undefined);
      setShown(kept.current.decisions.length);
    }, setFailure);
  };
  const { decisions, hasMore } = kept.current;
  return { decisions, hasMore, failure, showEarlier };
}

/** Words for the actions of decisions. A core of a later release may have others. */
const ACTIONS: Readonly<Record<string, string>> = {
  ADD: 'starts a worker',
  WAKE: 'wakes worker',
  FREEZE: 'puts into standby worker',
  DRAIN: 'ends after its jobs worker',
  RETIRE: 'removes the crashed worker',
  PREEMPT: 'takes a worker from low-priority jobs',
  OFFLOAD: 'moves to host memory worker',
  RESTORE: 'brings back from host memory worker',
};

/** Returns an action as text: its kind, and the worker if it names one. */
function actionText(action: string): string {
  const [kind = '', worker = ''] = action.split(' ');
  const words = ACTIONS[kind];
  return words === undefined ? action : `${words} ${worker}`.trim();
}

function Decision({ decision }: { decision: DecisionView }) {
  const { atMs, target, wished, present, throttled, queued, running, oldestWaitMs, reason, limits, actions } = decision;
  return (
    <li>
      <time dateTime={new Date(atMs).toISOString()}>{moment(atMs)}</time>{' '}
      <strong>
        {present} → {counted(target, 'worker')}
      </strong>{' '}
      {wished > target && <Badge word={`wanted ${wished}`} tone="warn" />}{' '}
      {throttled > 0 && <Badge word={`${throttled} not placed`} tone="bad" />}
      <p>{coreText(reason)}</p>
      {limits.map((text) => (
        <p key={text} className="hint">
          {coreText(text)}
        </p>
      ))}
      <p className="hint">
        {queued} waiting{queued > 0 ? `, the oldest for ${span(oldestWaitMs)}` : ''} · {running} running
        {actions.length > 0 ? ` · ${actions.map(actionText).join(', ')}` : ''}
      </p>
    </li>
  );
}
