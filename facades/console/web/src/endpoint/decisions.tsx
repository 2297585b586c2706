/** What the scaler decided and why: what changed something, or gave another reason than before. */
import { useRef, useState } from 'react';
import { DECISIONS_PAGE } from '../../../views.ts';
import type { DecisionView, EndpointView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Chart } from '../chart.tsx';
import { Badge, Empty, Failed, Panel } from '../parts.tsx';
import { moment, span, unbroken } from '../words.ts';

/** The part. */
export function Decisions({ view: { decisions: latest, nowMs, row } }: { view: EndpointView }) {
  const { decisions, hasMore, failure, showEarlier } = useDecisions(row.id, latest);
  const [isShort, setIsShort] = useState(false);
  const shown = isShort ? decisions.filter(({ target, present }) => target !== present) : decisions;
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
      <Panel title="Decisions, latest first" aside={
        <label><input type="checkbox" checked={isShort} onChange={({ target }) => setIsShort(target.checked)} /> only those that start or end workers</label>
      }>
        {shown.length === 0 && <Empty title="None of them starts or ends a worker." />}
        <ol className="decisions" tabIndex={0} aria-label="Decisions, latest first">
          {shown.map((decision) => <Decision key={decision.id} decision={decision} />)}
        </ol>
        {failure !== undefined ? <Failed error={failure} again={showEarlier} />
          : hasMore && <div className="more"><button type="button" onClick={showEarlier}>Show earlier ones</button></div>}
      </Panel>
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
