/** Why an endpoint has the workers that it has, and why a job is where it is: in fields and in a sentence. Pure. */
import type { JobState } from './job-state.ts';
import type { MachineExplanation } from './machine-explanation.ts';
import { queueLengthMax } from './queue-limit.ts';
import { NO_WORKERS_REFUSAL } from './placement-refusal.ts';
import type { DecisionNumbers, WorkerAction } from './scale-decision.ts';
import type { ScaleLimit } from './scale-target.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';

/** A decision as its log has it. */
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

/** One worker. */
export interface WorkerExplanation {
  id: string;
  state: 'STARTING' | 'IDLE' | 'BUSY' | 'FROZEN' | 'DRAINING' | 'OUTDATED' | 'CRASHED';
  held: number;
  reason: string;
}

/** The whole endpoint. */
export interface EndpointExplanation {
  endpointId: string;
  summary: string;
  queued: number;
  oldestWaitMs: number;
  running: number;
  lastDecision: LoggedDecision | undefined;
  workers: WorkerExplanation[];
  machines: MachineExplanation[];
  limits: readonly ScaleLimit[];
}

/** An attempt that was lost, or whose error was a reason to try again. */
export interface LostAttempt {
  attempt: number;
  workerId: string;
  /** Its name, or its id once it is forgotten. */
  machine: string;
  cause: string;
  /** Null: a signal ended it, or it is not known. */
  exitCode: number | null;
  /** How its worker ended, with its last lines. Empty: not known. */
  reason: string;
  lostAt: Date;
}

/** What became of one attempt. */
export interface AttemptExplanation {
  attempt: number;
  workerId: string;
  workerAlive: boolean;
  exitCode: number | null;
  reason: string;
  /** Why it was lost; empty: it was not. */
  cause: string;
  /** For the operator alone. */
  machine: string;
  lostAt: Date | undefined;
}

/** Jobs that wait, and what bounds them. */
export interface QueueLength {
  workersMax: number;
  queued: number;
  /** At all endpoints of the account; 0 where it has no quota of queued jobs. */
  ofAccount: number;
  /** Null: none. */
  quota: number | null;
}

/** What refuses further jobs now. */
export function queueLimits({ workersMax, queued, ofAccount, quota }: QueueLength): ScaleLimit[] {
  const most = queueLengthMax(workersMax);
  const full = `${queued} jobs wait and ${most} is the most for workersMax ${workersMax}: further ones are refused (429) until some are done`;
  const over = `${ofAccount} jobs of the account wait and its quota is ${quota}: further ones are refused (429) until some are done`;
  return [
    ...(queued >= most ? [{ limit: 'QUEUE_LENGTH', cut: 0, text: full } as const] : []),
    ...(quota !== null && ofAccount >= quota ? [{ limit: 'QUEUED_JOBS', cut: 0, text: over } as const] : []),
  ];
}

/** A job as its explanation needs it. */
export interface ExplainedJob {
  id: string;
  state: JobState;
  lowPriority: boolean;
  /** From 1; 0: it does not wait. */
  queuePosition: number;
  waitedMs: number;
  attempt: number;
  retries: number;
  workerId: string;
  error: string;
}

const LOW_PRIORITY_TEXT = ', behind all jobs without low priority';
/** Longest part of an error in a summary, in characters. */
const ERROR_LENGTH_MAX = 300;

/** What a worker is at. `told`: what its machine said of it; empty for those who may not read workers. `gaveWay`: why it was asked to go; empty: it was not. */
export function explainWorker(worker: WorkerSample, { version, idleTimeoutSeconds }: ScaleSettings, told: string, gaveWay: string): WorkerExplanation {
  const as = (state: WorkerExplanation['state'], reason: string): WorkerExplanation => ({ id: worker.id, state, held: worker.held, reason });
  const more = told === '' ? '' : `: ${told}`;
  if (worker.state === 'UNHEALTHY') {
    const next = worker.retryDue ? 'another takes its place' : 'its place waits for the end of a pause';
    const often = worker.failures > 1 ? `, ${worker.failures} times in a row` : '';
    return as('CRASHED', `it crashed${often}; ${next}${more}`);
  }
  if (worker.state === 'FROZEN' || worker.desired === 'FREEZE') return as('FROZEN', 'it is frozen and wakes for the next job');
  if (worker.desired === 'DRAIN' || worker.state === 'DRAINING') {
    const why = gaveWay === '' ? '' : `: it only does jobs of low priority, and ${gaveWay}`;
    return as('DRAINING', `it takes no more jobs and ends when it holds none${why}`);
  }
  if (worker.version !== version) return as('OUTDATED', 'it is of an earlier version and is replaced');
  if (worker.state === 'INITIALIZING') return as('STARTING', `it has not asked for work yet${afterCrashes(worker.failures)}${more}`);
  if (worker.held > 0) return as('BUSY', `it holds ${worker.held}`);
  return as('IDLE', `it can take a job; without one it goes after ${idleTimeoutSeconds} s of idleness unless workersMin keeps it`);
}

/** What is known besides: `what` it has to do; `reason`: why the scaler wants what it wants now; `cannotRun`: why no machine ever could take a worker of it. */
interface EndpointReasons {
  what: 'job' | 'request';
  reason: string;
  cannotRun: string;
  refusal: string;
}

const NOT_AT_WORK = [['STARTING', 'starts', 'start'], ['CRASHED', 'crashed', 'crashed']] as const;

/** An endpoint in a sentence. */
export function summarizeEndpoint(
  { queued, running }: ScaleSample, { workersMax }: ScaleSettings, workers: readonly WorkerExplanation[],
  { what, reason, cannotRun, refusal }: EndpointReasons,
): string {
  const count = (state: WorkerExplanation['state']): number => workers.filter((worker) => worker.state === state).length;
  const present = workers.filter(({ state }) => state !== 'FROZEN').length;
  const waiting = queued === 0 ? `No ${what} waits` : queued === 1 ? `At least one ${what} waits` : `${queued} ${what}s wait`;
  const jobs = `${waiting} and ${running === 0 ? 'none runs' : running === 1 ? 'one runs' : `${running} run`}`;
  if (cannotRun !== '') return `${jobs}. No worker can ever start: ${cannotRun}.`;
  if (queued > 0 && workersMax === 0) return `${jobs}: ${NO_WORKERS_REFUSAL.refusal}.`;
  const noPlace = refusal === '' ? '' : ` ${present === 0 ? 'Workers' : 'Further workers'} find no place: ${refusal}.`;
  // What keeps the workers that are there from working comes first: often more are wanted for no other reason.
  for (const [state, one, several] of NOT_AT_WORK) {
    if (queued > 0 && count(state) > 0) return `${jobs}. ${someOf(count(state), present, one, several)} (${firstReason(workers, state)}).${noPlace}`;
  }
  if (noPlace !== '') return `${jobs}.${noPlace}`;
  if (queued > 0 && present > 0 && count('IDLE') === 0) {
    return `${jobs}. ${present === 1 ? 'Its only worker is' : `All ${present} workers are`} busy or going; the scaler says: ${reason}.`;
  }
  const there = present === 1 ? 'There is one worker' : `There are ${present === 0 ? 'no' : present} workers`;
  return `${jobs}. ${there}${count('IDLE') === 0 ? '' : `, ${count('IDLE')} idle`}; the scaler says: ${reason}.`;
}

/** A job in a sentence, with its endpoint's while it waits. */
export function summarizeJob(job: ExplainedJob, endpointSummary: string): string {
  const lost = job.retries === 0 ? '' : ` ${job.retries} of its attempts ${job.retries === 1 ? 'was' : 'were'} lost before.`;
  switch (job.state) {
    case 'IN_QUEUE': return `It waits in place ${job.queuePosition}${job.lowPriority ? LOW_PRIORITY_TEXT : ''}.${lost} ${endpointSummary}`;
    case 'IN_PROGRESS': return `It runs on worker ${job.workerId} as attempt ${job.attempt}.${lost}`;
    case 'COMPLETED': return `It is done, by attempt ${job.attempt}.${lost}`;
    case 'CANCELLED': return `It was cancelled.${lost}`;
    case 'FAILED': case 'TIMED_OUT': return `It has ended: ${job.error.slice(0, ERROR_LENGTH_MAX) || 'it failed'}.${lost}`;
  }
}

function someOf(count: number, all: number, one: string, several: string): string {
  return all === 1 ? `Its only worker ${one}` : `${count} of ${all} workers ${count === 1 ? one : several}`;
}

/** Of a worker that starts in the place of crashed ones: that it starts is not all that keeps jobs waiting. */
function afterCrashes(failures: number): string {
  if (failures === 0) return '';
  return `, and ${failures === 1 ? 'the one' : `${failures} in a row`} before it crashed (slipway workers tells how)`;
}

function firstReason(workers: readonly WorkerExplanation[], state: WorkerExplanation['state']): string {
  return workers.find((worker) => worker.state === state)?.reason.split('\n')[0] ?? '';
}
