/** The page of the jobs of all endpoints: counts by state, filters, pages. */
import { Link } from 'wouter';
import type { AllJobsRow, AllJobsView } from '../../../views-of-jobs.ts';
import { JobError, JobTimes } from '../endpoint/jobs/job-cells.tsx';
import { STATES } from '../endpoint/jobs/job-list.ts';
import { count, stateText } from '../lib/format.ts';
import { useAddress } from '../lib/use-address.ts';
import { useDebounced } from '../lib/use-debounced.ts';
import { useLive } from '../lib/use-live.ts';
import { More } from '../listing/listing-parts.tsx';
import { LAST } from '../listing/time-fields.tsx';
import { usePages } from '../listing/use-pages.ts';
import { Away, Badge, Empty, Failed, Loading, Panel } from '../ui/parts.tsx';

/** Most characters of metadata in a row. */
const METADATA_MAX = 80;

/** Shows the page. The address holds the filter. */
export default function JobsPage() {
  const [query, set] = useAddress();
  const of = (name: string): string => query.get(name) ?? '';
  const { cursors, go } = usePages(query.toString());
  const asked = {
    ...{ status: of('status'), among: of('endpoint'), metadata: of('metadata'), submittedFrom: of('from') },
    cursor: cursors.at(-1)!,
  };
  const feed = useDebounced(`?${new URLSearchParams({ part: 'all-jobs', ...asked })}`, true);
  const { view, isOld, away, ended } = useLive<AllJobsView>(feed);
  return (
    <>
      <h1>Jobs</h1>
      {view && <Away text={away} />}
      <Panel title="Jobs of all endpoints">
        <div className="tools">
          <States counts={view?.counts ?? []} status={asked.status} set={set} />
        </div>
        <div className="tools">
          <Field name="endpoint" label="Endpoint" hint="name or id" value={asked.among} set={set} />
          <Field name="metadata" label="Metadata" hint="order=1042" value={asked.metadata} set={set} />
          <label className="field">
            Submitted{' '}
            <select value={asked.submittedFrom} onChange={({ target }) => set({ from: target.value })}>
              <option value="">any time</option>
              {LAST.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        </div>
        {ended ? <Failed error={ended} /> : view ? <Rows view={view} isOld={isOld} /> : <Loading away={away} />}
        {view && (cursors.length > 1 || view.nextCursor !== '') && (
          <div className="more">
            <button type="button" disabled={cursors.length === 1} onClick={() => go(cursors.slice(0, -1))}>
              Newer
            </button>
            <More isOld={isOld} hasMore={view.nextCursor !== ''} onClick={() => go([...cursors, view.nextCursor])}>
              Older
            </More>
            <span className="hint">page {cursors.length}</span>
          </div>
        )}
      </Panel>
    </>
  );
}

/** Shows the states with the numbers of their jobs; each is a filter. */
function States({
  counts,
  status,
  set,
}: {
  counts: AllJobsView['counts'];
  status: string;
  set: (part: Readonly<Record<string, string>>) => void;
}) {
  const numberOf = (state: string): string => {
    const found = counts.find((one) => one.state === state);
    return found ? ` ${count(found.count)}${found.capped ? '+' : ''}` : '';
  };
  return (
    <fieldset className="states">
      <legend className="spoken">State</legend>
      {['', ...STATES].map((state) => (
        <button key={state} type="button" aria-pressed={status === state} onClick={() => set({ status: state })}>
          {state === '' ? 'all' : stateText(state)}
          {numberOf(state)}
        </button>
      ))}
    </fieldset>
  );
}

function Field({
  name,
  label,
  hint,
  value,
  set,
}: {
  name: string;
  label: string;
  hint: string;
  value: string;
  set: (part: Readonly<Record<string, string>>) => void;
}) {
  return (
    <label className="field">
      {label}{' '}
      <input
        type="search"
        maxLength={200}
        placeholder={hint}
        value={value}
        onChange={({ target }) => set({ [name]: target.value })}
      />
    </label>
  );
}

function Rows({ view: { jobs, nextCursor, nowMs }, isOld }: { view: AllJobsView; isOld: boolean }) {
  if (jobs.length === 0)
    return nextCursor === '' ? (
      <Empty title="No job matches.">Results are kept for half an hour after a job ends.</Empty>
    ) : (
      <Empty title="None of these jobs matches.">“Older” looks further.</Empty>
    );
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Jobs, scrolls sideways" aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            <th>Job</th>
            <th>State</th>
            <th>Endpoint</th>
            <th>Submitted</th>
            <th className="right">Waited</th>
            <th className="right">Ran</th>
            <th>Error</th>
            <th>Metadata</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <Row key={`${job.endpointId} ${job.id}`} job={job} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ job, nowMs }: { job: AllJobsRow; nowMs: number }) {
  const metadata = Object.entries(job.metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
  return (
    <tr>
      <th scope="row">
        <Link href={`/endpoints/${job.endpointId}/jobs/${job.id}`} title={job.id}>
          <code className="short">{job.id}</code>
        </Link>
      </th>
      <td>
        <Badge word={job.status} />
      </td>
      <td>
        <Link href={`/endpoints/${job.endpointId}/jobs`} title={job.endpointName}>
          <bdi className="short">{job.endpointName}</bdi>
        </Link>
      </td>
      <JobTimes job={job} nowMs={nowMs} />
      <JobError job={job} />
      <td className="error" title={metadata}>
        {metadata.slice(0, METADATA_MAX)}
      </td>
    </tr>
  );
}
