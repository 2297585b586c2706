/** The page of a job: state and reason, attempts, input, output and actions. */
import { useEffect, useState } from 'react';
import { HoldUps } from '../job/holdups.tsx';
import { LogView } from '../job/log-view.tsx';
import { OutputView } from '../job/output-view.tsx';
import { PayloadView } from '../job/payload-view.tsx';
import { StreamView } from '../job/stream-view.tsx';
import type { JobView } from '../job/time-line.tsx';
import { TimeLine } from '../job/time-line.tsx';
import { CALL_FILTERS, Webhooks } from '../job/webhooks.tsx';
import { ask } from '../lib/api.ts';
import { errorText } from '../lib/error-text.ts';
import { count, span, unbroken } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useLive } from '../lib/use-live.ts';
import { namesOf } from '../listing/listing-parts.tsx';
import { useListing } from '../listing/use-listing.ts';
import { Away, Badge, Figure, Loading, Panel, Refused, Trail } from '../ui/parts.tsx';

const FINAL = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];
const RETRIED = ['FAILED', 'TIMED_OUT'];

/** Shows the page. */
export default function JobPage({ endpointId, jobId }: { endpointId: string; jobId: string }) {
  const filter = useListing({}, namesOf(CALL_FILTERS));
  const asked = { endpoint: endpointId, job: jobId, ...(filter.isNarrowed ? filter.filters : {}) };
  const { view, isOld, away, ended } = useLive<JobView>(`?${new URLSearchParams(asked)}`);
  const trail = (
    <Trail
      steps={[
        { text: 'Overview', to: '/' },
        { text: 'Endpoint', to: `/endpoints/${endpointId}` },
        { text: 'Jobs', to: `/endpoints/${endpointId}/jobs` },
        { text: 'Job' },
      ]}
    />
  );
  if (ended)
    return (
      <>
        {trail}
        <Refused title="Job" why={ended}>
          Results are kept for half an hour after a job ends.
        </Refused>
      </>
    );
  if (!view)
    return (
      <>
        {trail}
        <h1>Job</h1>
        <Loading away={away} />
      </>
    );
  const { why } = view;
  const path = `/api/endpoints/${endpointId}/jobs/${jobId}`;
  const isFinal = FINAL.includes(why.state);
  return (
    <>
      {trail}
      <div className="title">
        <h1>
          <code>{jobId}</code>
        </h1>
        <Badge word={why.state} />
        <Actions endpointId={endpointId} jobId={jobId} state={why.state} />
      </div>
      <Away text={away} />
      {view.error === undefined && <p className="summary">{unbroken(why.summary)}</p>}
      <dl className="figures">
        {why.queuePosition > 0 && <Figure label="Queue position" value={count(why.queuePosition)} />}
        <Figure label="Waited" value={span(view.delayMs ?? why.waitedMs)} />
        <Figure label="Ran" value={span(view.executionMs ?? ranUntilNow(view))} />
        <Figure label="Attempt" value={why.attempt || '–'} />
        <Figure label="Lost attempts" value={why.lostAttempts} tone={why.lostAttempts > 0 ? 'bad' : ''} />
      </dl>
      {view.error && (
        <Panel title="Error">
          <pre className="viewer" tabIndex={0} role="group" aria-label="Error">
            {errorText(view.error).whole}
          </pre>
        </Panel>
      )}
      {why.endpoint && <HoldUps {...why.endpoint} />}
      <TimeLine view={view} />
      <Webhooks path={`${path}/webhooks`} calls={view.webhooks} isOld={isOld} filter={filter} />
      {isFinal ? <OutputView endpointId={endpointId} jobId={jobId} state={why.state} /> : null}
      <Parts path={path} endpointId={endpointId} jobId={jobId} isLive={why.state === 'IN_PROGRESS'} />
    </>
  );
}

/** Returns the run time so far of a running job, in milliseconds. */
function ranUntilNow({ nowMs, submitMs, delayMs, why: { state } }: JobView): number | undefined {
  return state === 'IN_PROGRESS' && submitMs !== undefined && delayMs !== undefined
    ? Math.max(0, nowMs - submitMs - delayMs)
    : undefined;
}

/**
 * Parts that are loaded on demand: most jobs stream nothing, and inputs may be large. A running job shows its stream
 * and logs at once.
 */
function Parts({
  path,
  endpointId,
  jobId,
  isLive,
}: {
  path: string;
  endpointId: string;
  jobId: string;
  isLive: boolean;
}) {
  const [wanted, setWanted] = useState<readonly string[]>(isLive ? ['logs', 'stream'] : []);
  useEffect(() => {
    // They stay visible when the job ends.
    if (isLive) setWanted((before) => [...new Set(['logs', 'stream', ...before])]);
  }, [isLive]);
  const shows = (part: string): boolean => wanted.includes(part);
  const names = [
    ['logs', 'Show logs'],
    ['stream', 'Show stream'],
    ['input', 'Show input'],
  ] as const;
  return (
    <>
      {shows('logs') && <LogView path={`${path}/logs`} />}
      {shows('stream') && <StreamView endpointId={endpointId} jobId={jobId} />}
      {shows('input') && <PayloadView title="Input" path={`${path}/input`} name={`${jobId}-input.json`} version="" />}
      <p className="choices">
        {names.map(
          ([part, text]) =>
            !shows(part) && (
              <button key={part} type="button" onClick={() => setWanted([...wanted, part])}>
                {text}
              </button>
            ),
        )}
      </p>
    </>
  );
}

function Actions({ endpointId, jobId, state }: { endpointId: string; jobId: string; state: string }) {
  const { jobs } = useSession();
  const [failure, setFailure] = useState('');
  if (jobs !== 'write') return null;
  const act = (verb: 'cancel' | 'retry'): void => {
    ask('POST', `/api/v2/${endpointId}/${verb}/${jobId}`, {}).then(
      () => setFailure(''),
      (error: Error) => setFailure(error.message),
    );
  };
  return (
    <div className="actions">
      {failure && (
        <span role="alert" className="failure">
          {failure}
        </span>
      )}
      {!FINAL.includes(state) && (
        <button type="button" className="danger" onClick={() => act('cancel')}>
          Cancel
        </button>
      )}
      {RETRIED.includes(state) && (
        <button type="button" onClick={() => act('retry')}>
          Run it again
        </button>
      )}
    </div>
  );
}
