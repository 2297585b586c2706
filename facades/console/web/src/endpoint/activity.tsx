/** The Activity tab of an endpoint: problems, queue and rates, workers, and core's explanation. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { EndpointView, PastView, Sample } from '../../../views.ts';
import { ENDPOINT_PAST_MS } from '../../../views.ts';
import { since } from '../../../views-of-times.ts';
import { Chart } from '../charts/chart.tsx';
import { RangeChoice, useRange } from '../charts/time-range.tsx';
import { ask } from '../lib/api.ts';
import { coreText } from '../lib/core-text.ts';
import { count, span } from '../lib/format.ts';
import { useHistory } from '../lib/use-history.ts';
import { Figure, Panel } from '../ui/parts.tsx';
import { Problems } from '../ui/problems.tsx';
import { UnfitMachines } from '../ui/unfit-machines.tsx';
import { Batches } from './batches.tsx';
import { JobTimes } from './job-times.tsx';
import { Requests } from './load-balancing/requests.tsx';
import { Models } from './models.tsx';
import { Workers } from './workers.tsx';

const MINUTE_MS = 60_000;
/** Core samples every ten seconds. */
const PACE_MS = 10_000;

/** Shows the tab. */
export function Activity({ view, past }: { view: EndpointView; past: PastView }) {
  const { row, summary, problems, problemCount, oldestWaitMs, machines, models, batches, nowMs } = view;
  const [minutes, setMinutes] = useRange();
  const live = useHistory([row], past, nowMs, ENDPOINT_PAST_MS).get(row.id) ?? [];
  const samples = useSamples(row.id, minutes, live);
  return (
    <>
      <Problems problems={problems} problemCount={problemCount} />
      {summary !== '' && <p className="summary">{coreText(summary)}</p>}
      <dl className="figures">
        <Figure label={row.type === 'LB' ? 'Requests wait' : 'In queue'} value={count(row.queued)} />
        {row.type === 'QB' && <Figure label="Oldest waits" value={row.queued > 0 ? span(oldestWaitMs) : '–'} />}
        <Figure label="Running" value={count(row.inProgress)} />
        <Figure
          label="Workers"
          value={`${row.workers.idle + row.workers.running} / ${row.workersMax}`}
          hint="ready, of at most"
        />
        {row.type === 'QB' && <Figure label="Completed" value={count(row.completed)} />}
        {row.type === 'QB' && <Figure label="Failed" value={count(row.failed)} tone={row.failed > 0 ? 'bad' : ''} />}
      </dl>
      <RangeChoice minutes={minutes} onChange={setMinutes} />
      <Panel title={row.type === 'LB' ? 'Requests and workers' : 'Queue and workers'}>
        <Chart
          label={`${row.type === 'LB' ? 'Requests' : 'Jobs'} that wait and run, and workers`}
          times={samples.map(([atMs]) => atMs)}
          series={[
            {
              label: row.type === 'LB' ? 'waiting' : 'in queue',
              colour: '--queue',
              values: samples.map(([, queued]) => queued),
            },
            { label: 'running', colour: '--run', values: samples.map(([, , running]) => running) },
            { label: 'workers', colour: '--good', values: samples.map(([, , , workers]) => workers) },
          ]}
        />
      </Panel>
      {row.type === 'QB' ? <JobTimes id={row.id} minutes={minutes} /> : <Requests id={row.id} minutes={minutes} />}
      <Workers view={view} />
      <Models models={models} />
      <Batches batches={batches} />
      <UnfitMachines machines={machines} />
    </>
  );
}

/** Returns the samples of the range. What is older than the feed keeps is read from core. */
function useSamples(id: string, minutes: number, live: readonly Sample[]): readonly Sample[] {
  const isLong = minutes * MINUTE_MS > ENDPOINT_PAST_MS;
  const { data: kept = [] } = useQuery({
    queryKey: ['history', id, minutes],
    queryFn: () => ask<readonly Sample[]>('GET', `/api/endpoints/${id}/history?minutes=${minutes}`),
    placeholderData: keepPreviousData,
    refetchInterval: PACE_MS,
    enabled: isLong,
  });
  const fromMs = (live.at(-1)?.[0] ?? 0) - minutes * MINUTE_MS;
  const first = live[0]?.[0] ?? Infinity;
  return since(isLong ? [...kept.filter(([atMs]) => atMs < first), ...live] : live, fromMs);
}
