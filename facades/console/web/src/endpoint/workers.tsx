/** The workers of an endpoint on a time line, and those that ended without being told to. */
import type { EndpointView, WorkerView } from '../../../views.ts';
import { Badge, Empty, Panel } from '../parts.tsx';
import { ago, clock, span } from '../words.ts';

/** The shortest stretch that the line shows, in milliseconds. */
const WINDOW_MS_MIN = 60_000;

/** Both. */
export function Workers({ view: { workers, ended, nowMs } }: { view: EndpointView }) {
  const fromMs = Math.min(nowMs - WINDOW_MS_MIN, ...workers.map(({ createdMs }) => createdMs));
  return (
    <>
      <Panel title="Workers" aside={workers.length > 0 && <span>since {clock(fromMs)}</span>}>
        {workers.length === 0
          ? <Empty title="No worker runs.">One starts when a job comes, or at once with workersMin above 0.</Empty>
          : <ul className="lanes">{workers.map((worker) => <Lane key={worker.id} worker={worker} fromMs={fromMs} nowMs={nowMs} />)}</ul>}
      </Panel>
      {ended.length > 0 && (
        <Panel title="Workers that ended by themselves" aside="of the last day">
          <ul className="problems">
            {ended.map(({ count, exitCode, lastLine, lastEndedMs, reason }) => (
              <li key={`${exitCode} ${lastLine}`}>
                <Badge word={`${count} ×`} tone="bad" /> {exitCode === null ? 'without an exit code' : `exit code ${exitCode}`}, {ago(lastEndedMs, nowMs)}
                <pre className="viewer" tabIndex={0}>{reason || lastLine}</pre>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function Lane({ worker, fromMs, nowMs }: { worker: WorkerView; fromMs: number; nowMs: number }) {
  const { id, machineId, state, held, capacity, version, reason, gpus, createdMs, sdkVersion } = worker;
  const left = (createdMs - fromMs) / (nowMs - fromMs) * 100;
  const word = state === 'READY' && held > 0 ? 'BUSY' : state;
  const tone = word === 'BUSY' ? 'busy' : state === 'READY' ? '' : state === 'UNHEALTHY' ? 'bad' : 'warn';
  const about = [`machine ${machineId}`, gpus > 0 ? `${gpus} GPU${gpus === 1 ? '' : 's'}` : '', `version ${version}`, sdkVersion].filter((part) => part !== '');
  return (
    <li className="lane">
      <div><code>{id}</code> <Badge word={word} tone={tone === '' ? 'good' : tone} /></div>
      <div>
        <div className="bar" aria-hidden="true"><i className={tone} style={{ left: `${left}%`, right: 0 }} /></div>
        <p className="hint">
          {span(nowMs - createdMs)} · holds {held} of {Math.max(capacity, held)} · {about.join(' · ')}{reason === '' ? '' : ` · ${reason}`}
        </p>
      </div>
    </li>
  );
}
