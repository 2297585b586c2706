/** The time line of workers, and workers that exited unexpectedly. */
import { useState } from 'react';
import { Link } from 'wouter';
import type { EndpointView, WorkerView } from '../../../views.ts';
import { loadsText, workerLoadText } from '../charts/gpu-load.ts';
import { ago, clock, span } from '../lib/format.ts';
import { plainText } from '../lib/worker-text.ts';
import { Dialog, DialogButton } from '../ui/dialog.tsx';
import { Badge, Empty, Panel } from '../ui/parts.tsx';
import { TailLog } from '../ui/tail-log.tsx';
import type { Lane, Phase } from './worker-lanes.ts';
import { exitOf, lanesOf, phasesOf, timeIn } from './worker-lanes.ts';

/** Lengths of the time line that can be chosen, in milliseconds. */
const WINDOWS = [
  [5 * 60_000, '5 minutes'],
  [30 * 60_000, '30 minutes'],
  [2 * 3_600_000, '2 hours'],
  [24 * 3_600_000, 'day'],
] as const;
const KEY: readonly (readonly [Phase['kind'], string])[] = [
  ['starting', 'starting (cold start)'],
  ['ran', 'ready'],
  ['busy', 'busy'],
  ['standby', 'standby'],
  ['crashed', 'crashed, waits for the next try'],
];
/** Most ended workers of a lane that are listed; the others are collapsed. */
const NAMED_MAX = 3;

/** The workers of an endpoint, or those of one machine, which `machineName` names. */
interface WorkersShown {
  view: Pick<EndpointView, 'workers' | 'recent' | 'ended' | 'nowMs'>;
  machineName?: string;
}

/** Shows the time line and the unexpected exits. */
export function Workers({ view, ...machine }: WorkersShown) {
  const { workers, ended, nowMs } = view;
  return (
    <>
      <TimeLine view={view} {...machine} />
      {ended.length > 0 && (
        <Panel title="Workers that exited unexpectedly" aside="of the last day">
          <ul className="problems">
            {ended.map(({ count, exitCode, lastLine, lastEndedMs, lastWorkerId, reason, endpointName = '' }) => (
              <li key={lastWorkerId}>
                <Badge word={`${count} ×`} tone="bad" /> {endpointName !== '' && `of ${endpointName}, `}
                {exitCode === null ? 'without an exit code' : `exit code ${exitCode}`}, {ago(lastEndedMs, nowMs)}{' '}
                <LogButton id={lastWorkerId} text={count === 1 ? 'Log' : 'Latest log'} />
                <pre className="viewer" tabIndex={0}>
                  {plainText(reason || lastLine)}
                </pre>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {workers.length === 200 && <p className="hint">The oldest 200 workers are shown.</p>}
    </>
  );
}

function TimeLine({ view: { workers, recent, nowMs }, machineName }: WorkersShown) {
  const [chosenMs, setChosenMs] = useState(() => fitting(workers, nowMs));
  const fromMs = nowMs - chosenMs;
  const shown = [...workers, ...recent].filter(({ endedMs }) => endedMs === 0 || endedMs > fromMs);
  const choice = (
    <label>
      of the last{' '}
      <select value={chosenMs} onChange={({ target }) => setChosenMs(Number(target.value))}>
        {WINDOWS.map(([ms, text]) => (
          <option key={ms} value={ms}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Panel title="Workers" aside={choice}>
      {workers.length === 0 && (
        <Empty title="No worker runs.">
          {machineName === undefined
            ? 'One starts when a job comes, or at once with “Workers kept warm” above 0.'
            : undefined}
        </Empty>
      )}
      {shown.length > 0 && (
        <>
          {lanesOf(shown).map(({ machineId, lanes }) => (
            <div key={machineId} role="group" aria-label={`machine ${machineId}`}>
              <p className="lanes-of">machine {machineName ?? <code>{machineId}</code>}</p>
              <ul className="lanes">
                {lanes.map((lane) => (
                  <LaneRow key={lane.name} lane={lane} fromMs={fromMs} nowMs={nowMs} />
                ))}
              </ul>
            </div>
          ))}
          <div className="axis" aria-hidden="true">
            <span>{clock(fromMs)}</span>
            <span>{clock(nowMs - chosenMs / 2)}</span>
            <span>{clock(nowMs)}</span>
          </div>
          <div className="key" aria-hidden="true">
            {KEY.map(([kind, text]) => (
              <span key={kind}>
                <i className={kind} />
                {text}
              </span>
            ))}
          </div>
        </>
      )}
    </Panel>
  );
}

/** Returns the shortest window that covers the oldest running worker; half an hour if none runs. */
function fitting(workers: readonly WorkerView[], nowMs: number): number {
  const age = workers.length === 0 ? WINDOWS[1][0] : nowMs - Math.min(...workers.map(({ createdMs }) => createdMs));
  return (WINDOWS.find(([ms]) => ms >= age) ?? WINDOWS[1])[0];
}

function LaneRow({ lane: { name, workers }, fromMs, nowMs }: { lane: Lane; fromMs: number; nowMs: number }) {
  const percentOf = (ms: number): number => Math.min(100, Math.max(0, ((ms - fromMs) / (nowMs - fromMs)) * 100));
  const bars = workers.flatMap((worker) => phasesOf(worker, nowMs).map((phase) => ({ ...phase, id: worker.id })));
  const gone = workers.filter(({ endedMs }) => endedMs > 0).toReversed();
  const named = [...workers.filter(({ endedMs }) => endedMs === 0), ...gone.slice(0, NAMED_MAX)];
  return (
    <li className="lane">
      <div>{name}</div>
      <div>
        <div className="bar phases" aria-hidden="true">
          {bars
            .filter(({ toMs }) => toMs >= fromMs)
            .map(({ id, kind, fromMs: begin, toMs }) => (
              <i
                key={`${id} ${kind} ${begin}`}
                className={kind}
                title={`${id} ${kind}`}
                style={{ left: `${percentOf(begin)}%`, width: `${percentOf(toMs) - percentOf(begin)}%` }}
              />
            ))}
        </div>
        <ul className="worker-lines">
          {named.map((worker) => (
            <WorkerLine key={worker.id} worker={worker} fromMs={fromMs} nowMs={nowMs} />
          ))}
        </ul>
        {gone.length > NAMED_MAX && (
          <details className="earlier">
            <summary>and {gone.length - NAMED_MAX} before</summary>
            <ul className="worker-lines">
              {gone.slice(NAMED_MAX).map((worker) => (
                <WorkerLine key={worker.id} worker={worker} fromMs={fromMs} nowMs={nowMs} />
              ))}
            </ul>
          </details>
        )}
      </div>
    </li>
  );
}

/** Returns `in host memory, 10.0 GB, out in 5.3 s, back in 2.4 s`. Empty if it was never moved. */
function movesText({ standby, gpuBytes, offloadMs, restoreMs }: WorkerView): string {
  if (offloadMs === 0) return '';
  const parts = [
    standby === 'HOST' ? 'in host memory' : '',
    `${(gpuBytes / 1e9).toFixed(1)}\u00A0GB`,
    `out in ${span(offloadMs)}`,
    restoreMs > 0 ? `back in ${span(restoreMs)}` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function startText(worker: WorkerView, nowMs: number): string {
  const { createdMs, readyMs, crashedMs, endedMs } = worker;
  if (readyMs > 0) return `ready after ${span(readyMs - createdMs)}`;
  const isOver = crashedMs > 0 || endedMs > 0;
  return `${isOver ? 'never ready, ran' : 'starting'} for ${span(exitOf(worker, nowMs) - createdMs)}`;
}

/** Returns when a worker crashed, and when its slot is tried again. Empty if it did not crash. */
function crashText({ crashedMs, retryMs, endedMs }: WorkerView, nowMs: number): string {
  if (crashedMs === 0 || endedMs > 0) return '';
  const next = retryMs > nowMs ? `next try at ${clock(retryMs)}, in ${span(retryMs - nowMs)}` : 'next try now';
  return `crashed ${ago(crashedMs, nowMs)}, ${next}`;
}

function WorkerLine({ worker, fromMs, nowMs }: { worker: WorkerView; fromMs: number; nowMs: number }) {
  const { id, state, held, capacity, version, reason, endedMs, sdkVersion, endpoint, loads } = worker;
  const phases = phasesOf(worker, nowMs);
  const busyMs = timeIn('busy', phases, fromMs);
  const standbyMs = timeIn('standby', phases, fromMs);
  const holds = capacity > 0 ? `holds ${held} of ${Math.max(capacity, held)}` : '';
  const parts = [
    startText(worker, nowMs),
    crashText(worker, nowMs),
    busyMs > 0 ? `busy ${span(busyMs)}` : '',
    standbyMs > 0 ? `standby ${span(standbyMs)}` : '',
    ...(endedMs > 0
      ? [`ended ${ago(endedMs, nowMs)}`]
      : [
          holds,
          workerLoadText(worker, nowMs),
          loadsText(loads),
          movesText(worker),
          `version ${version}`,
          sdkVersion,
          plainText(reason),
        ]),
  ];
  return (
    <li className="hint">
      <code>{id}</code>{' '}
      {endpoint && (
        <Link href={`/endpoints/${endpoint.id}`} title={`account ${endpoint.accountId}`}>
          {endpoint.name}
        </Link>
      )}{' '}
      <WorkerBadge state={state} isBusy={held > 0} hasEnded={endedMs > 0} />{' '}
      {parts.filter((part) => part !== '').join(' · ')} <LogButton id={id} text="Log" />
    </li>
  );
}

/** Opens the log of a worker, running or ended. */
function LogButton({ id, text }: { id: string; text: string }) {
  return (
    <DialogButton text={text} className="quiet" spoken={`of worker ${id}`}>
      {(close) => (
        <Dialog title={`Log of worker ${id}`} onClose={close}>
          <TailLog of={{ worker: id }} label="Log" />
        </Dialog>
      )}
    </DialogButton>
  );
}

function WorkerBadge({ state, isBusy, hasEnded }: { state: string; isBusy: boolean; hasEnded: boolean }) {
  if (state === 'UNHEALTHY') return <Badge word="crashed" tone="bad" />;
  if (hasEnded) return <Badge word="ended" tone="calm" />;
  const isWorking = state === 'READY' && isBusy;
  return <Badge word={isWorking ? 'BUSY' : state} {...(isWorking ? { tone: 'busy' } : {})} />;
}
