/** A job from its submission on: waiting, running, and what became of each attempt. */
import { Badge, Panel } from '../parts.tsx';
import { plainText } from '../worker-text.ts';
import { moment, span } from '../words.ts';

/** What the feed of a job tells. */
export interface JobView {
  nowMs: number;
  error?: string;
  delayMs?: number;
  executionMs?: number;
  workerId?: string;
  submitMs?: number;
  finishMs?: number;
  why: {
    state: string;
    summary: string;
    queuePosition: number;
    waitedMs: number;
    attempt: number;
    lostAttempts: number;
    attempts: readonly AttemptView[];
  };
}

interface AttemptView {
  attempt: number;
  workerId: string;
  workerAlive: boolean;
  exitCode?: number;
  reason: string;
  lostAt?: string;
  cause?: string;
  /** The operator is told. */
  machine?: string;
}

/** The panel. */
export function TimeLine({ view }: { view: JobView }) {
  const { submitMs, finishMs, nowMs, delayMs, executionMs, workerId, why } = view;
  if (submitMs === undefined) return null;
  const whole = Math.max(1, (finishMs ?? nowMs) - submitMs);
  const waited = why.state === 'IN_QUEUE' ? whole : Math.min(delayMs ?? whole, whole);
  const ran = executionMs ?? whole - waited;
  const percent = (ms: number): string => `${(ms / whole * 100).toFixed(2)}%`;
  const outcome = why.state === 'FAILED' || why.state === 'TIMED_OUT' ? 'bad' : why.state === 'IN_PROGRESS' ? 'busy' : '';
  return (
    <Panel title="Time line" aside={<span>{moment(submitMs)} – {finishMs === undefined ? 'now' : moment(finishMs)}</span>}>
      <ul className="lanes">
        <li className="lane">
          <div>Job</div>
          <div>
            <div className="bar" aria-hidden="true">
              <i className="warn" style={{ left: 0, width: percent(waited) }} />
              {why.attempt > 0 && why.state !== 'IN_QUEUE' && <i className={outcome} style={{ left: percent(waited), width: percent(ran) }} />}
            </div>
            <p className="hint">waited {span(waited)}{why.attempt > 0 && why.state !== 'IN_QUEUE' ? `, ran ${span(ran)} on ${workerId ?? 'a worker'}` : ''}</p>
          </div>
        </li>
        {why.attempts.map((attempt) => <Attempt key={attempt.attempt} attempt={attempt} submitMs={submitMs} whole={whole} />)}
      </ul>
    </Panel>
  );
}

/** When it was lost, and then how its worker ended. How a worker ended later is nothing to an attempt that it finished. */
function Attempt({ attempt: { attempt, workerId, workerAlive, machine, lostAt, cause, exitCode, reason }, submitMs, whole }: {
  attempt: AttemptView; submitMs: number; whole: number;
}) {
  const isLost = lostAt !== undefined;
  const atMs = isLost ? Math.min(whole, Math.max(0, Date.parse(lostAt) - submitMs)) : 0;
  const told = [
    `worker ${workerId}${machine ? ` on ${machine}` : ''}${workerAlive ? ', still there' : ''}`, cause ?? '',
    isLost ? `lost ${span(atMs)} after the submission` : '', isLost && exitCode !== undefined ? `exit code ${exitCode}` : '',
  ];
  return (
    <li className="lane">
      <div>Attempt {attempt} {isLost && <Badge word="lost" tone="bad" />}</div>
      <div>
        {isLost && (
          <div className="bar" aria-hidden="true"><i className="bad" style={{ left: `calc(${(atMs / whole * 100).toFixed(2)}% - 3px)` }} /></div>
        )}
        <p className="hint">{told.filter((part) => part !== '').join(' · ')}</p>
        {isLost && reason !== '' && <pre className="viewer" tabIndex={0} aria-label={`The end of worker ${workerId}`}>{plainText(reason)}</pre>}
      </div>
    </li>
  );
}
