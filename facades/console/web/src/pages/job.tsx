/** The page of a job: state and reason, attempts, input, output and actions. */
import { useState } from 'react';
import { EditAndRun } from '../job/edit-and-run.tsx';
import { HoldUps } from '../job/holdups.tsx';
import { LogView } from '../job/log-view.tsx';
import { OutputView } from '../job/output-view.tsx';
import { PayloadView } from '../job/payload-view.tsx';
import { StreamView } from '../job/stream-view.tsx';
import type { JobView } from '../job/time-line.tsx';
import { TimeLine } from '../job/time-line.tsx';
import { CALL_FILTERS, Webhooks } from '../job/webhooks.tsx';
import { ask } from '../lib/api.ts';
import { coreText } from '../lib/core-text.ts';
import { errorText } from '../lib/error-text.ts';
import { count, span } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useLive } from '../lib/use-live.ts';
import { namesOf } from '../listing/listing-parts.tsx';
import { useListing } from '../listing/use-listing.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { DialogButton } from '../ui/dialog.tsx';
import { Away, Badge, FactsTable, Figure, Loading, Panel, Refused, Trail } from '../ui/parts.tsx';

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
        { text: view?.endpointName || endpointId, to: `/endpoints/${endpointId}` },
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
  const hasBegun = why.attempt > 0 || why.state === 'IN_PROGRESS';
  return (
    <>
      {trail}
      <div className="title">
        <h1>
          <code>{jobId}</code>
        </h1>
        <CopyButton text={jobId} className="quiet" spoken="the job’s id" />
        <Badge word={why.state} />
        <Actions endpointId={endpointId} jobId={jobId} state={why.state} metadata={view.metadata} />
      </div>
      <Away text={away} />
      {view.error === undefined && <p className="summary">{coreText(why.summary)}</p>}
      <Figures view={view} />
      {view.error && (
        <Panel title="Error">
          <pre className="viewer" tabIndex={0} role="group" aria-label="Error">
            {errorText(view.error).whole}
          </pre>
        </Panel>
      )}
      {why.endpoint && <HoldUps {...why.endpoint} />}
      <div className="halves">
        <PayloadView title="Input" path={`${path}/input`} name={`${jobId}-input.json`} version="" />
        {isFinal && <OutputView endpointId={endpointId} jobId={jobId} state={why.state} />}
        {hasBegun && <StreamView endpointId={endpointId} jobId={jobId} />}
        {hasBegun && <LogView path={`${path}/logs`} />}
      </div>
      <TimeLine view={view} />
      <Metadata pairs={view.metadata} />
      <Webhooks path={`${path}/webhooks`} calls={view.webhooks} isOld={isOld} filter={filter} />
    </>
  );
}

function Figures({ view }: { view: JobView }) {
  const { why } = view;
  return (
    <dl className="figures">
      {why.queuePosition > 0 && <Figure label="Queue position" value={count(why.queuePosition)} />}
      <Figure label="Waited" value={span(view.delayMs ?? why.waitedMs)} />
      <Figure label="Ran" value={span(view.executionMs ?? ranUntilNow(view))} />
      <Figure label="Attempt" value={why.attempt || '–'} />
      <Figure label="Attempts lost" value={why.lostAttempts} tone={why.lostAttempts > 0 ? 'bad' : ''} />
    </dl>
  );
}

/** Returns the run time so far of a running job, in milliseconds. */
function ranUntilNow({ nowMs, submitMs, delayMs, why: { state } }: JobView): number | undefined {
  return state === 'IN_PROGRESS' && submitMs !== undefined && delayMs !== undefined
    ? Math.max(0, nowMs - submitMs - delayMs)
    : undefined;
}

function Metadata({ pairs }: { pairs: JobView['metadata'] }) {
  const facts = Object.entries(pairs);
  return facts.length === 0 ? null : (
    <Panel title="Metadata">
      <FactsTable label="Metadata" facts={facts} />
    </Panel>
  );
}

function Actions({
  endpointId,
  jobId,
  state,
  metadata,
}: {
  endpointId: string;
  jobId: string;
  state: string;
  metadata: JobView['metadata'];
}) {
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
      <DialogButton text="Edit and run again …">
        {(close) => <EditAndRun endpointId={endpointId} jobId={jobId} metadata={metadata} onClose={close} />}
      </DialogButton>
    </div>
  );
}
