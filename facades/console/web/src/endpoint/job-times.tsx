/**
 * Rates and durations of an endpoint's jobs: how many arrived and ended, how long they waited and ran, over minutes to
 * hours.
 */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { JobTimesView, PercentilesView } from '../../../views-of-times.ts';
import { Chart, SPANS } from '../charts/chart.tsx';
import { rangeText } from '../charts/time-range.tsx';
import { ask } from '../lib/api.ts';
import { count, counted, span } from '../lib/format.ts';
import { Empty, Failed, Figure, Loading, Overdue, Panel } from '../ui/parts.tsx';
import { ratesOf } from './rates.ts';

/** Core records its counts every ten seconds. */
const PACE_MS = 10_000;
const LINES = [
  ['p50', '--good', 'p50Ms'],
  ['p95', '--run', 'p95Ms'],
  ['p99', '--queue', 'p99Ms'],
] as const;
const KINDS = [
  ['delay', 'Waited', 'waited for a worker'],
  ['execution', 'Ran', 'ran'],
] as const;

/** Shows the panels, of the last `minutes`. */
export function JobTimes({ id, minutes }: { id: string; minutes: number }) {
  const { data, error, refetch, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['times', id, minutes],
    queryFn: () => ask<JobTimesView>('GET', `/api/endpoints/${id}/times?minutes=${minutes}`),
    placeholderData: keepPreviousData,
    refetchInterval: PACE_MS,
  });
  const aside = data && data.execution.count > 0 && <span>{counted(data.execution.count, 'execution')}</span>;
  return (
    <>
      <Panel title="How long jobs wait and run" aside={aside}>
        {data && <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />}
        {error ? (
          <Failed error={error} again={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.execution.count === 0 ? (
          <Empty title="No job ended in that time.">How long jobs waited and ran is kept for twelve hours.</Empty>
        ) : (
          <Shown times={data} />
        )}
      </Panel>
      {data && data.rates.length > 0 && <JobRates times={data} />}
    </>
  );
}

function JobRates({ times }: { times: JobTimesView }) {
  // Describes the data shown: a new choice may not have arrived yet.
  const text = rangeText(Math.round((times.nowMs - times.sinceMs) / 60_000));
  const { times: at, arrived, completed, failed } = ratesOf(times);
  const sum = (of: (rate: JobTimesView['rates'][number]) => number): string =>
    count(times.rates.reduce((total, rate) => total + of(rate), 0));
  return (
    <Panel title="Jobs a minute" aside={<span>in the last {text}</span>}>
      <dl className="figures">
        <Figure label="Arrived" value={sum((rate) => rate.arrived)} />
        <Figure label="Completed" value={sum((rate) => rate.completed)} />
        <Figure label="Failed" value={sum((rate) => rate.failed)} hint="including timeouts" />
      </dl>
      <Chart
        label="Jobs a minute"
        times={at}
        series={[
          { label: 'arrived', colour: '--queue', values: arrived },
          { label: 'completed', colour: '--good', values: completed },
          { label: 'failed', colour: '--bad', values: failed },
        ]}
      />
    </Panel>
  );
}

function Shown({ times }: { times: JobTimesView }) {
  const at = momentsOf(times);
  const steps = stepsOf(times);
  return (
    <>
      <dl className="figures">
        {KINDS.flatMap(([kind, text, long]) =>
          LINES.map(([line, , of]) => (
            <Figure
              key={`${kind} ${line}`}
              label={`${text}, ${line}`}
              value={valueOf(times[kind], of)}
              hint={hintOf(line, long)}
            />
          )),
        )}
      </dl>
      <div className="pair">
        {KINDS.map(([kind, text, long]) => (
          <figure key={kind}>
            <figcaption>{text}</figcaption>
            <Chart
              key={times.stepMs}
              label={`How long jobs ${long}`}
              times={at}
              scale={SPANS}
              series={LINES.map(([label, colour, of]) => ({
                label,
                colour,
                values: at
                  .map((ms) => steps.get(Math.floor(ms / times.stepMs) * times.stepMs)?.[kind])
                  .map((step) => numberOf(step, of)),
              }))}
            />
          </figure>
        ))}
      </div>
    </>
  );
}

type Of = (typeof LINES)[number][2];

/**
 * Returns the steps by start time. The current step may just have begun: until a job ends in it, it equals the previous
 * one.
 */
function stepsOf({ steps, nowMs, stepMs }: JobTimesView): ReadonlyMap<number, JobTimesView['steps'][number]> {
  const found = new Map(steps.map((step) => [step.atMs, step]));
  const present = Math.floor(nowMs / stepMs) * stepMs;
  const before = found.get(present - stepMs);
  if (before && !found.has(present)) found.set(present, before);
  return found;
}

/** Returns the start of each step, also of empty ones, and now. */
function momentsOf({ sinceMs, nowMs, stepMs }: JobTimesView): number[] {
  const first = Math.floor(sinceMs / stepMs);
  const steps = Math.floor(nowMs / stepMs) - first + 1;
  return [...Array.from({ length: steps }, (_, index) => (first + index) * stepMs), nowMs];
}

function numberOf(step: PercentilesView | undefined, of: Of): number | null {
  return step && step.count > 0 ? step[of] : null;
}

function valueOf(step: PercentilesView, of: Of): string {
  return step.count > 0 ? span(step[of]) : '–';
}

function hintOf(line: string, long: string): string {
  const share = line === 'p50' ? 'Half of the jobs' : `${line.slice(1)} of 100 jobs`;
  return `${share} ${long} at most this long, with an accuracy of about 20\u00A0%.`;
}
