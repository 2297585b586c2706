/** Explains why an endpoint has its workers, and why a job waits: as fields and as a sentence. Pure. */
import type { JobState } from '../jobs/job-state.ts';
import { queueLengthMax } from '../jobs/queue-limit.ts';
import type { SecretRefusal } from '../resources/secret-reference.ts';
import { secretRefusalChange, secretRefusalText } from '../resources/secret-reference.ts';
import type { WorkerAction } from '../scaling/place-workers.ts';
import { NO_WORKERS_TEXT } from '../scaling/placement-refusal.ts';
import type { DecisionNumbers } from '../scaling/scale-decision.ts';
import type { ScaleLimit } from '../scaling/scale-target.ts';
import type { ScaleSample, ScaleSettings } from '../scaling/scaler.ts';
import { closed } from '../settings/sentence.ts';
import type { BatchExplanation } from './batch-explanation.ts';
import type { MachineExplanation } from './machine-explanation.ts';
import type { ModelExplanation } from './model-explanation.ts';
import { busyChange, machineChange, placeChange } from './what-would-change.ts';
import type { WorkerExplanation } from './worker-explanation.ts';
import { AWAY_TEXT } from './worker-explanation.ts';

/** A logged decision. */
export interface LoggedDecision {
  id: number;
  decidedAt: Date;
  target: number;
  wished: number;
  throttled: number;
  reason: string;
  limits: readonly ScaleLimit[];
  numbers: DecisionNumbers;
  actions: readonly WorkerAction[];
}

/** A limit with its remedy. */
interface LimitExplanation extends ScaleLimit {
  change: string;
}

/** Explanation of an endpoint. */
export interface EndpointExplanation {
  endpointId: string;
  endpointName: string;
  summary: string;
  queued: number;
  oldestWaitMs: number;
  running: number;
  lastDecision: LoggedDecision | undefined;
  workers: WorkerExplanation[];
  machines: MachineExplanation[];
  models: ModelExplanation[];
  batches: BatchExplanation[];
  limits: readonly LimitExplanation[];
}

/** An attempt that was lost, or that was retried because of its error. */
export interface LostAttempt {
  attempt: number;
  workerId: string;
  /** Name of the machine, or its id after removal. */
  machine: string;
  cause: string;
  /** Null if a signal ended it, or if unknown. */
  exitCode: number | null;
  /** How its worker ended, with its last log lines. Empty if unknown. */
  reason: string;
  /** `undefined` if unknown. */
  startedAt: Date | undefined;
  lostAt: Date;
}

/** An attempt of a job. */
export interface AttemptExplanation {
  attempt: number;
  workerId: string;
  workerAlive: boolean;
  exitCode: number | null;
  reason: string;
  /** Why it was lost. Empty if it was not. */
  cause: string;
  /** Shown to the operator only. */
  machine: string;
  lostAt: Date | undefined;
  /** `undefined` if unknown. */
  startedAt: Date | undefined;
  /** `undefined` if it is running, or if unknown. */
  endedAt: Date | undefined;
}

/** Waiting jobs and their limits. */
export interface QueueLength {
  workersMax: number;
  queued: number;
  /** Number of waiting jobs with low priority. */
  low: number;
  /** Number of waiting jobs at all endpoints of the account. 0 without a quota of queued jobs. */
  ofAccount: number;
  /** Null without a limit. */
  quota: number | null;
}

/** Limits that reject further jobs now. */
export function queueLimits({ workersMax, queued, ofAccount, quota }: Omit<QueueLength, 'low'>): ScaleLimit[] {
  const most = queueLengthMax(workersMax);
  const full =
    `${queued} jobs wait and ${most} is the most for workersMax ${workersMax}: further ones are refused (429) ` +
    'until some are done';
  const over =
    quota === 0
      ? 'the account may have no queued jobs: all are refused (429) until the operator raises its quota'
      : `${ofAccount} jobs of the account wait and its quota is ${quota}: further ones are refused (429) ` +
        'until some are done';
  return [
    ...(queued >= most ? [{ limit: 'QUEUE_LENGTH', cut: 0, text: full } as const] : []),
    ...(quota !== null && ofAccount >= quota ? [{ limit: 'QUEUED_JOBS', cut: 0, text: over } as const] : []),
  ];
}

/** A job, as far as its explanation needs it. */
export interface ExplainedJob {
  id: string;
  state: JobState;
  lowPriority: boolean;
  /** Position in the queue from 1, at most JOBS_AHEAD_MAX. 0 if it does not wait. */
  queuePosition: number;
  waitedMs: number;
  attempt: number;
  retries: number;
  workerId: string;
  error: string;
  /** Machine of the latest attempt, `undefined` while the job waits. */
  startedAt: Date | undefined;
  finishedAt: Date | undefined;
}

/** Maximum number of jobs ahead that is counted. */
export const JOBS_AHEAD_MAX = 10_000;

const LOW_PRIORITY_TEXT = ', behind all jobs without low priority';
const LOW_STARTS_NONE_TEXT =
  ' Jobs of low priority start no worker: they run once another job has started one, or with workersMin above 0.';
/** Maximum length of an error in a summary, in characters. */
const ERROR_LENGTH_MAX = 300;

/**
 * Further facts. `what`: its work. `reason`: why the scaler wants its target. `cannotRun`: why no machine could ever
 * take a worker.
 */
interface EndpointReasons {
  what: 'job' | 'request';
  /** Waiting jobs of low priority. */
  low: number;
  reason: string;
  cannotRun: string;
  /** The secret for want of which no new worker starts. */
  secret?: SecretRefusal | undefined;
  refusal: string;
  limits: readonly ScaleLimit[];
  machines: readonly MachineExplanation[];
  /** Requests that have waited for seconds although a ready worker has none. */
  starved: number;
}

/** Returns the sentence that requests wait beside a worker that could take them. */
export function starvedText(waiting: number): string {
  return (
    `${waiting === 1 ? 'a request has' : `${waiting} requests have`} waited for more than 3 s beside a ready ` +
    'worker that has none: a facade does not know its workers, or does not reach the address of this one'
  );
}

/** The remedy for that. */
export const STARVED_CHANGE =
  'The logs of the facades say whether core announced it to them; ' +
  "the worker's address must be reachable from a facade's host";

const NOT_AT_WORK = [
  ['AWAY', 'is away', 'are away'],
  ['STARTING', 'starts', 'start'],
  ['UNREADY', 'is not ready', 'are not ready'],
  ['CRASHED', 'crashed', 'crashed'],
] as const;

/** Returns the explanation of an endpoint as a sentence. */
export function summarizeEndpoint(
  { queued, running }: ScaleSample,
  { workersMax }: ScaleSettings,
  workers: readonly WorkerExplanation[],
  { what, low, reason, cannotRun, secret, refusal, limits, machines, starved }: EndpointReasons,
): string {
  const count = (state: WorkerExplanation['state']): number =>
    workers.filter((worker) => worker.state === state).length;
  const present = workers.filter(({ state }) => state !== 'FROZEN').length;
  const runs = Math.max(
    running,
    workers.reduce((sum, { held }) => sum + held, 0),
  );
  const run = runs > 1 ? `${runs} run` : `${runs === 0 ? 'none' : 'one'} runs`;
  const jobs = `${waitingText(what, queued, low)} and ${run}`;
  const waits = queued + low > 0;
  if (secret) {
    const why = `No worker of its latest version can start: ${secretRefusalText(secret)}`;
    return `${jobs}. ${why}.${toChange(secretRefusalChange(secret))}`;
  }
  if (cannotRun !== '') return `${jobs}. No worker can ever start: ${cannotRun}.${toChange(machineChange(machines))}`;
  if (waits && workersMax === 0) return `${jobs}, but ${NO_WORKERS_TEXT}.`;
  if (starved > 0) return `${jobs}; ${starvedText(starved)}. ${STARVED_CHANGE}.`;
  const notPlaced =
    refusal === '' ? '' : ` ${present === 0 ? 'Workers' : 'Further workers'} cannot be placed: ${refusal}.`;
  // Problems of existing workers come first, as they are often the only reason why more are wanted.
  for (const [state, one, several] of NOT_AT_WORK) {
    if (!waits || count(state) === 0) continue;
    const { change } = workers.find((worker) => worker.state === state)!;
    return (
      `${jobs}. ${someOf(count(state), present, one, several)} ` +
      `(${firstReason(workers, state)}).${notPlaced}${toChange(change)}`
    );
  }
  if (notPlaced !== '') return `${jobs}.${notPlaced}${toChange(placeChange(limits, machines))}`;
  if (waits && present > 0 && count('IDLE') === 0) {
    const all = present === 1 ? 'Its only worker is' : `All ${present} workers are`;
    return `${jobs}. ${all} busy or stopping; the scaler says: ${reason}.${toChange(busyChange(limits))}`;
  }
  const there = present === 1 ? 'There is one worker' : `There are ${present === 0 ? 'no' : present} workers`;
  // The preempting endpoint was deleted, and the cause remains.
  const state = what === 'request' && (['STARTING', 'UNREADY'] as const).find((unready) => count(unready) > 0);
  if (state)
    return (
      `${jobs}. ${there}, ${present === 1 ? '' : `${count(state)} of them `}not ready ` +
      `(${firstReason(workers, state)}).`
    );
  const starting = queued === 0 && waits && present === 0 ? LOW_STARTS_NONE_TEXT : '';
  return `${jobs}. ${there}${idleText(count('IDLE'), present)}; the scaler says: ${reason}.${starting}`;
}

function idleText(idle: number, present: number): string {
  if (idle === 0) return '';
  if (idle < present) return `, ${idle} of them idle`;
  return present === 1 ? ', which is idle' : ', all idle';
}

function waitingText(what: EndpointReasons['what'], queued: number, low: number): string {
  if (queued > 0) return queued === 1 ? `At least one ${what} waits` : `${queued} ${what}s wait`;
  if (low > 0) return low === 1 ? `Only a ${what} of low priority waits` : `Only ${low} ${what}s of low priority wait`;
  return `No ${what} waits`;
}

function toChange(change: string): string {
  return change === '' ? '' : ` To change that: ${change}.`;
}

/** Explains a job in a sentence, with its endpoint while it waits. `away`: its machine is not connected. */
export function summarizeJob(job: ExplainedJob, endpointSummary: string, away = false): string {
  const lost =
    job.retries === 0 ? '' : ` ${job.retries} of its attempts ${job.retries === 1 ? 'was' : 'were'} lost before.`;
  switch (job.state) {
    case 'IN_QUEUE': {
      const position =
        job.queuePosition > JOBS_AHEAD_MAX
          ? `behind at least ${JOBS_AHEAD_MAX} others`
          : `in place ${job.queuePosition}`;
      return `It waits ${position}${job.lowPriority ? LOW_PRIORITY_TEXT : ''}.${lost} ${endpointSummary}`;
    }
    case 'IN_PROGRESS': {
      const gone = `, but ${AWAY_TEXT}: unless that is back within seconds, the attempt is lost and tried again`;
      return `It runs on worker ${job.workerId} as attempt ${job.attempt}${away ? gone : ''}.${lost}`;
    }
    case 'COMPLETED':
      return `It is done, by attempt ${job.attempt}.${lost}`;
    case 'CANCELLED':
      return `It was cancelled.${lost}`;
    case 'FAILED':
    case 'TIMED_OUT':
      return `It has ended: ${closed(job.error.slice(0, ERROR_LENGTH_MAX).trimEnd() || 'it failed')}${lost}`;
  }
}

function someOf(count: number, all: number, one: string, several: string): string {
  return all === 1 ? `Its only worker ${one}` : `${count} of ${all} workers ${count === 1 ? one : several}`;
}

/** Returns what happened and the worker's last log line, which mostly names the cause. */
function firstReason(workers: readonly WorkerExplanation[], state: WorkerExplanation['state']): string {
  const [what = '', ...lines] = (workers.find((worker) => worker.state === state)?.reason ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const last = lines.at(-1)?.trim().slice(0, ERROR_LENGTH_MAX);
  return last === undefined ? what : `${what}${lines.length > 1 ? ' …' : ''} ${last}`;
}
