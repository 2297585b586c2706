/** The time line of a job: waiting, running, and each attempt. */
import type { LimitView } from '../../../views.ts';
import type { WebhookView } from '../../../views-of-jobs.ts';
import { moment, span } from '../lib/format.ts';
import { plainText } from '../lib/worker-text.ts';
import { Badge, Panel } from '../ui/parts.tsx';
import type { UnfitMachine } from '../ui/unfit-machines.tsx';

/** Events of a job's feed. */
export interface JobView {
  nowMs: number;
  /** Empty if the key may not read endpoints. */
  endpointName: string;
  metadata: Readonly<Record<string, string>>;
  error?: string;
  delayMs?: number;
  executionMs?: number;
  workerId?: string;
  submitMs?: number;
  finishMs?: number;
  webhooks: readonly WebhookView[];
  why: {
    state: string;
    summary: string;
    queuePosition: number;
    waitedMs: number;
    attempt: number;
    lostAttempts: number;
    attempts: readonly AttemptView[];
    /** While it waits. */
    endpoint?: { limits: readonly LimitView[]; machines: readonly UnfitMachine[] };
  };
}

interface AttemptView {
  attempt: number;
  workerId: string;
  workerAlive: boolean;
  exitCode?: number;
  reason: string;
  startedAt?: string;
  endedAt?: string;
  lostAt?: string;
  cause?: string;
  /** Shown to the operator only. */
  machine?: string;
}

/** Shows the panel. */
export function TimeLine({ view }: { view: JobView }) {
  const { submitMs, finishMs, nowMs, delayMs, executionMs, workerId, why } = view;
  if (submitMs === undefined) return null;
  const endMs = Math.max(submitMs + 1, finishMs ?? nowMs);
  const whole = endMs - submitMs;
  const waited = why.state === 'IN_QUEUE' ? whole : Math.min(delayMs ?? whole, whole);
  const ran = executionMs ?? whole - waited;
  const hasRun = why.attempt > 0 && why.state !== 'IN_QUEUE';
  const percentOf = (ms: number): number => Math.min(100, Math.max(0, ((ms - submitMs) / whole) * 100));
  const lanes = why.attempts.map((attempt) => ({ attempt, bar: barOf(attempt, why.state, endMs, percentOf) }));
  return (
    <Panel
      title="Timeline"
      aside={
        <span>
          {moment(submitMs)} – {finishMs === undefined ? 'now' : moment(finishMs)}
        </span>
      }
    >
      <ul className="lanes">
        <li className="lane">
          <div>Job</div>
          <div>
            <div className="bar" aria-hidden="true">
              <i className="warn" style={{ left: 0, width: '100%' }} />
              {lanes.toReversed().map(({ attempt, bar }) => bar && <i key={attempt.attempt} {...bar} />)}
            </div>
            <p className="hint">
              waited {span(waited)}
              {hasRun ? `, ran ${span(ran)} on ${workerId ?? 'a worker'}` : ''}
            </p>
          </div>
        </li>
        {lanes.map(({ attempt, bar }) => (
          <Attempt key={attempt.attempt} attempt={attempt} bar={bar} submitMs={submitMs} nowMs={nowMs} />
        ))}
      </ul>
    </Panel>
  );
}

interface Bar {
  className: string;
  style: { left: string; width: string };
}

/** Returns the bar from the start to the end. If the start is unknown, only the end is shown. */
function barOf(
  { startedAt, endedAt, lostAt }: AttemptView,
  state: string,
  jobEndMs: number,
  percentOf: (ms: number) => number,
): Bar | undefined {
  const toMs = endedAt === undefined ? jobEndMs : Date.parse(endedAt);
  if (startedAt === undefined && endedAt === undefined) return undefined;
  const left = percentOf(startedAt === undefined ? toMs : Date.parse(startedAt));
  const isBad = lostAt !== undefined || state === 'FAILED' || state === 'TIMED_OUT';
  const plain = state === 'CANCELLED' ? 'calm' : '';
  const healthy = endedAt === undefined ? 'busy' : plain;
  // A bar is at least 3 px wide and must start within the line.
  return {
    className: isBad ? 'bad' : healthy,
    style: { left: `min(${left.toFixed(2)}%, 100% - 3px)`, width: `${(percentOf(toMs) - left).toFixed(2)}%` },
  };
}

/** Shows an attempt: start, duration, result, and how its worker ended if the attempt was lost. */
function Attempt({
  attempt: { attempt, workerId, workerAlive, machine, startedAt, endedAt, lostAt, cause, exitCode, reason },
  bar,
  submitMs,
  nowMs,
}: {
  attempt: AttemptView;
  bar: Bar | undefined;
  submitMs: number;
  nowMs: number;
}) {
  const isLost = lostAt !== undefined;
  const startMs = startedAt === undefined ? undefined : Date.parse(startedAt);
  const endMs = endedAt === undefined ? nowMs : Date.parse(endedAt);
  const facts = [
    `worker ${workerId}${machine ? ` on ${machine}` : ''}${workerAlive ? ', still there' : ''}`,
    startMs === undefined ? '' : `began ${span(Math.max(0, startMs - submitMs))} after the submission`,
    startMs === undefined ? '' : `${endedAt === undefined ? 'runs for' : 'ran'} ${span(Math.max(0, endMs - startMs))}`,
    cause ?? '',
    isLost && startMs === undefined ? `ended ${span(Math.max(0, endMs - submitMs))} after the submission` : '',
    isLost && exitCode !== undefined ? `exit code ${exitCode}` : '',
  ];
  return (
    <li className="lane">
      <div>
        Attempt {attempt} {isLost && <Badge word="lost" tone="bad" />}
      </div>
      <div>
        {bar && (
          <div className="bar" aria-hidden="true">
            <i {...bar} />
          </div>
        )}
        <p className="hint">{facts.filter((part) => part !== '').join(' · ')}</p>
        {isLost && reason !== '' && (
          <pre className="viewer" tabIndex={0} role="group" aria-label={`The end of worker ${workerId}`}>
            {plainText(reason)}
          </pre>
        )}
      </div>
    </li>
  );
}
