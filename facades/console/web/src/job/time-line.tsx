/** A job from its submission on: waiting, running, and what became of each attempt. */
import { Badge, Panel } from '../parts.tsx';
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
        {why.attempts.map((attempt) => (
          <li className="lane" key={attempt.attempt}>
            <div>Attempt {attempt.attempt} {attempt.lostAt !== undefined && <Badge word="lost" tone="bad" />}</div>
            <div>
              {attempt.lostAt !== undefined && (
                <div className="bar" aria-hidden="true">
                  <i className="bad" style={{ left: percent(Math.min(whole, Math.max(0, Date.parse(attempt.lostAt) - submitMs))) }} />
                </div>
              )}
              <p className="hint">
                worker {attempt.workerId}{attempt.machine ? ` on ${attempt.machine}` : ''}{attempt.workerAlive ? ', still there' : ''}
                {attempt.cause ? ` · ${attempt.cause}` : ''}{attempt.exitCode === undefined ? '' : ` · exit code ${attempt.exitCode}`}
              </p>
              {attempt.reason !== '' && <pre className="viewer" tabIndex={0}>{attempt.reason}</pre>}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
