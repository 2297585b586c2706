/** Requests to a load-balancing endpoint: rates, times, outcomes, workers, and the last ones that failed. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { RequestStatsView, RequestSumView } from '../../../../views-of-times.ts';
import { Chart, SPANS } from '../../charts/chart.tsx';
import { rangeText } from '../../charts/time-range.tsx';
import { ask } from '../../lib/api.ts';
import { ago, count, span } from '../../lib/format.ts';
import { Empty, Failed, Figure, Loading, Panel } from '../../ui/parts.tsx';

/** Core stores its counts every ten seconds. */
const PACE_MS = 10_000;
/** Core stores its counts every ten seconds: a step that started more recently has too little data. */
const KNOWN_AFTER_MS = 20_000;
const LINES = [
  ['p50', '--good', 'p50Ms'],
  ['p95', '--run', 'p95Ms'],
  ['p99', '--queue', 'p99Ms'],
] as const;

/** Shows the requests of the last `minutes`. */
export function Requests({ id, minutes }: { id: string; minutes: number }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['requests', id, minutes],
    queryFn: () => ask<RequestStatsView>('GET', `/api/endpoints/${id}/requests?minutes=${minutes}`),
    placeholderData: keepPreviousData,
    refetchInterval: PACE_MS,
  });
  const isEmpty = !data?.total || data.total.requests === 0;
  return (
    <>
      <Panel
        title="Requests"
        aside={data && `of the last ${rangeText(Math.round((data.nowMs - data.sinceMs) / 60_000))}`}
      >
        {error ? (
          <Failed error={error} again={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : isEmpty ? (
          <Empty title="No request ended in that time." />
        ) : (
          <Shown stats={data} total={data.total!} />
        )}
      </Panel>
      {data && data.failed.length > 0 && <LastFailed stats={data} />}
    </>
  );
}

function Shown({ stats, total }: { stats: RequestStatsView; total: RequestSumView }) {
  const { times, steps, lengths } = stepsOf(stats);
  const rate = (of: (step: RequestSumView) => number): number[] =>
    steps.map((step, index) => (step ? Math.round((of(step) * 10_000) / lengths[index]!) / 10 : 0));
  const errors = total.serverErrors + total.broken;
  return (
    <>
      <dl className="figures">
        <Figure label="Requests" value={count(total.requests)} />
        <Figure label="Errors" value={count(errors)} hint="5xx, or broken off" tone={errors > 0 ? 'bad' : ''} />
        <Figure label="4xx" value={count(total.clientErrors)} />
        <Figure label="Left by clients" value={count(total.abandoned)} />
        {LINES.map(([label, , of]) => (
          <Figure key={label} label={label} value={span(total.duration[of])} />
        ))}
      </dl>
      <div className="pair">
        <figure>
          <figcaption>Requests a second</figcaption>
          <Chart
            key={stats.stepMs}
            label="Requests a second"
            times={times}
            series={[
              {
                label: 'below 400',
                colour: '--good',
                values: rate(({ succeeded, redirected }) => succeeded + redirected),
              },
              { label: '4xx', colour: '--queue', values: rate(({ clientErrors }) => clientErrors) },
              {
                label: 'errors',
                colour: '--bad',
                values: rate(({ serverErrors, broken }) => serverErrors + broken),
              },
            ]}
          />
        </figure>
        <figure>
          <figcaption>Duration</figcaption>
          <Chart
            label="How long requests took"
            times={times}
            scale={SPANS}
            series={LINES.map(([label, colour, of]) => ({
              label,
              colour,
              values: steps.map((step) => step?.duration[of] ?? null),
            }))}
          />
        </figure>
      </div>
    </>
  );
}

/**
 * Returns each step and now, `undefined` if no request ended in it, with its length in milliseconds. The last step is
 * repeated, because its value holds until now.
 */
function stepsOf({ steps, sinceMs, nowMs, stepMs }: RequestStatsView) {
  const counted = new Map(steps.map((step) => [step.atMs, step]));
  const [first, present] = [Math.floor(sinceMs / stepMs) * stepMs, Math.floor(nowMs / stepMs) * stepMs];
  const last = nowMs - present < KNOWN_AFTER_MS ? present - stepMs : present;
  const starts = Array.from({ length: (last - first) / stepMs + 1 }, (_, index) => first + index * stepMs);
  const shown = [...starts, last];
  return {
    times: [...starts, nowMs],
    steps: shown.map((atMs) => counted.get(atMs)),
    lengths: shown.map((atMs) => (atMs === present ? nowMs - present : stepMs)),
  };
}

function LastFailed({ stats: { failed, nowMs } }: { stats: RequestStatsView }) {
  return (
    <Panel title="Last failed requests" aside="a sample; queries are not kept">
      <div className="scroll" tabIndex={0} role="region" aria-label="Last failed requests, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>When</th>
              <th>Status</th>
              <th>Request</th>
              <th className="right">Took</th>
              <th>Worker</th>
            </tr>
          </thead>
          <tbody>
            {failed.map(({ atMs, method, path, hasQuery, status, durationMs, workerId, cause }, index) => (
              <tr key={`${atMs} ${index}`}>
                <td>{ago(atMs, nowMs)}</td>
                <td>{status === 0 ? cause || 'broken off' : `${status}${cause === '' ? '' : ` ${cause}`}`}</td>
                <td>
                  <code>
                    {method} {path}
                    {hasQuery ? '?…' : ''}
                  </code>
                </td>
                <td className="right number">{span(durationMs)}</td>
                <td>{workerId === '' ? '–' : <code>{workerId}</code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
