/** Shown after a deployment: how far the endpoint is, why it does not start, its first job, and how to call it. */
import { useState } from 'react';
import { Link, useSearch } from 'wouter';
import type { EndpointView, WorkerView } from '../../../views.ts';
import { GONE } from '../job/stream-view.tsx';
import { coreText } from '../lib/core-text.ts';
import { Badge, Panel } from '../ui/parts.tsx';
import { Problems } from '../ui/problems.tsx';
import { UnfitMachines } from '../ui/unfit-machines.tsx';
import { Code } from './code.tsx';
import { Result } from './try-it.tsx';

function StartBadge({ worker }: { worker: WorkerView | undefined }) {
  if (worker?.state === 'UNHEALTHY') return <Badge word="crashed" tone="bad" />;
  return <Badge word={worker ? 'starting' : 'waiting'} tone="warn" />;
}

/** Shows the page. The first job is named in its address. */
export function Start({ view }: { view: EndpointView }) {
  const { row, summary, workers, machines, problems, problemCount } = view;
  const job = new URLSearchParams(useSearch()).get('job') ?? '';
  const [end, setEnd] = useState('');
  const ready = workers.filter(({ state }) => state === 'READY').length;
  const starting = workers.find(({ state }) => state !== 'READY' && state !== 'FROZEN');
  const isReady = ready > 0 || (end !== '' && end !== GONE);
  return (
    <>
      <Panel title="Deployment" aside={isReady ? 'done' : 'live'}>
        <ol className="steps">
          <li>
            <Badge word="done" tone="good" /> The endpoint is created.
          </li>
          <li>
            {isReady ? (
              <>
                <Badge word="done" tone="good" /> A worker is ready.
              </>
            ) : (
              <>
                <StartBadge worker={starting} /> {coreText(summary)}
                {starting && starting.reason !== '' && <pre className="viewer">{starting.reason}</pre>}
              </>
            )}
          </li>
          {row.type === 'QB' && (
            <li>
              {end !== '' ? (
                <>
                  <Badge word={end} />{' '}
                  {end === GONE ? 'The stream of the first job cannot be read.' : 'The first job has ended.'}
                </>
              ) : job === '' ? (
                <>
                  <Badge word="next" /> <Link href={`/endpoints/${row.id}/try`}>Send a first job</Link>.
                </>
              ) : (
                <>
                  <Badge word="waiting" tone="warn" /> The first job was sent.{' '}
                  <Link href={`/endpoints/${row.id}/jobs/${job}`}>Why does it wait?</Link>
                </>
              )}
            </li>
          )}
        </ol>
      </Panel>
      {!isReady && <Problems problems={problems} problemCount={problemCount} />}
      {!isReady && <UnfitMachines machines={machines} />}
      {job !== '' && <Result id={row.id} job={job} end={end} onEnd={setEnd} />}
      <Code id={row.id} type={row.type} />
    </>
  );
}
