/** Lists current problems as text, sorted by severity. Pure. */

import { modelFaultChange } from '../machines/cached-model.ts';
import type { SecretRefusal } from '../resources/secret-reference.ts';
import { secretRefusalChange, secretRefusalText } from '../resources/secret-reference.ts';
import type { PlacementRefusal } from '../scaling/placement-refusal.ts';
import { NO_WORKERS_REFUSAL } from '../scaling/placement-refusal.ts';
import type { ScaleLimit, ScaleLimitName } from '../scaling/scale-target.ts';
import { closed, sentence } from '../settings/sentence.ts';
import type { CannotRunReason } from './cannot-run-reason.ts';
import type { DatabaseState } from './database-problem.ts';
import { databaseProblems } from './database-problem.ts';
import { queueLimits, STARVED_CHANGE, starvedText } from './explanation.ts';
import type { MachineState } from './machine-problem.ts';
import { machineProblems } from './machine-problem.ts';
import type { EndpointModel } from './model-explanation.ts';
import { failedText, on } from './model-explanation.ts';
import type { Problem, ProblemKind } from './problem.ts';
import { describeRollout, HELD_CHANGE } from './rollout-text.ts';
import { withChange } from './what-would-change.ts';

/** An endpoint by name. */
export interface NamedEndpoint {
  id: string;
  name: string;
  accountId: string;
}

/** A queue with waiting jobs. */
export interface WaitingQueue {
  id: string;
  accountId: string;
  workersMax: number;
  queued: number;
  /** Quota of queued jobs of the account. Null: none. */
  quota: number | null;
  oldestWaitMs: number;
  /** Limits of the last decision. */
  limits: readonly ScaleLimit[];
}

/** An endpoint whose released version does not start, while the previous good version serves. */
export interface HeldRelease {
  id: string;
  version: number;
  goodVersion: number;
  reason: string;
}

/** A model of an endpoint that a machine could not download, and that no machine has. */
export interface FailedModel extends EndpointModel {
  /** The endpoint. */
  id: string;
}

/** Webhook calls of an endpoint that were given up, with the latest job. */
export interface GivenUpWebhooks {
  id: string;
  count: number;
  jobId: string;
  lastError: string;
}

/** A pod that should run and does not. */
export interface FailedPod {
  id: string;
  name: string;
  accountId: string;
  statusText: string;
  exitCode: number | null;
}

/** A pod on a machine that is drained. Pods stay there, so only its owner can move it. */
export interface DrainedPod {
  id: string;
  name: string;
  accountId: string;
  /** Why the machine is drained. May be empty. */
  reason: string;
  /** Deadline of the drain, in milliseconds since 1970. Null: none. */
  deadlineMs: number | null;
}

/** All signs of problems that were found. */
interface Signs {
  endpoints: readonly NamedEndpoint[];
  cannotRun: ReadonlyMap<string, CannotRunReason>;
  throttled: readonly (PlacementRefusal & { id: string })[];
  crashed: readonly { id: string; count: number }[];
  held: readonly HeldRelease[];
  failedModels: readonly FailedModel[];
  queues: readonly WaitingQueue[];
  /** Endpoints whose requests wait although a ready worker has none. */
  starved: readonly { id: string; waiting: number }[];
  givenUp: readonly GivenUpWebhooks[];
  pods: readonly FailedPod[];
  drainedPods: readonly DrainedPod[];
  /** Filled for the operator only. */
  machines: readonly MachineState[];
  /** `undefined` for everyone but the operator. */
  database: DatabaseState | undefined;
  coreVersion: string;
  /** Returns recent rejections by rate limits, of an endpoint and of the whole account. */
  refusedAt(endpointId: string): readonly ScaleLimit[];
  refusedOf(accountId: string): readonly ScaleLimit[];
}

/** Wait after which a queue is a problem, in milliseconds. The alert in deploy/prometheus uses the same value. */
const OLD_QUEUE_MS = 600_000;
/** Limits of a decision that others set. An endpoint's own limits, and missing capacity, are reported in other ways. */
const SET_BY_OTHERS: readonly ScaleLimitName[] = ['QUOTA', 'FAIR_SHARE', 'KEPT_GPUS'];
const DRAINED_POD_CHANGE =
  'The pod stays on it and may stop with it. To change that: copy what you need, delete the pod, and create it again.';
const ACCOUNT_TEXT = 'the whole account';

/** Returns all problems, the worst first. `operator`: machines are named. */
export function problemsOf(signs: Signs, operator: boolean): Problem[] {
  const byId = new Map(signs.endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const found = [...endpointProblems(signs, operator), ...accountProblems(signs)].flatMap((problem) => {
    if (problem.about === 'ACCOUNT') return [problem];
    const endpoint = byId.get(problem.id);
    return endpoint ? [{ ...problem, name: endpoint.name, accountId: endpoint.accountId }] : [];
  });
  const all = [
    ...(signs.database ? databaseProblems(signs.database) : []),
    ...found,
    ...signs.pods.map(podProblem),
    ...signs.drainedPods.map(drainedPodProblem),
    ...signs.machines.flatMap((machine) => machineProblems(machine, signs.coreVersion)),
  ];
  // The sort is stable: problems of equal severity stay grouped by kind.
  return all.sort((one, other) => Number(other.broken) - Number(one.broken));
}

function endpointProblems(signs: Signs, operator: boolean): Problem[] {
  const textOf = ({ refusal, refusalByMachine }: PlacementRefusal): string =>
    // This text begins with the name of a machine, whose case must not change.
    operator && refusalByMachine !== refusal ? closed(refusalByMachine) : sentence(refusal);
  const throttled = new Map<string, PlacementRefusal>(signs.throttled.map((one) => [one.id, one]));
  for (const { id, workersMax, queued } of signs.queues)
    if (workersMax === 0 && queued > 0) throttled.set(id, NO_WORKERS_REFUSAL);
  for (const id of signs.cannotRun.keys()) throttled.delete(id);
  return [
    ...[...signs.cannotRun].map(([id, reason]) =>
      reason.secret
        ? ofEndpoint(id, reason.secret.kind, true, secretText(reason.secret))
        : ofEndpoint(id, 'CANNOT_RUN', true, textOf(reason)),
    ),
    ...signs.held.map((held) => ofEndpoint(held.id, 'RELEASE_HELD', true, heldText(held))),
    ...signs.failedModels.map((model) => ofEndpoint(model.id, 'MODEL_FAILED', true, failedModelText(model, operator))),
    // The failed download is why they could not start.
    ...signs.crashed
      .filter(({ id }) => !signs.failedModels.some((model) => model.id === id))
      .map(({ id, count }) => ofEndpoint(id, 'WORKERS_CRASHED', true, crashedText(count))),
    ...signs.queues
      .filter(({ oldestWaitMs }) => oldestWaitMs >= OLD_QUEUE_MS)
      .map((queue) => ofEndpoint(queue.id, 'OLD_QUEUE', true, oldText(queue))),
    ...signs.starved.map(({ id, waiting }) =>
      ofEndpoint(id, 'WORKERS_NOT_USED', true, sentence(`${starvedText(waiting)}. ${STARVED_CHANGE}`)),
    ),
    ...signs.givenUp.map(({ id, jobId, ...calls }) => ({
      ...ofEndpoint(id, 'WEBHOOKS_GIVEN_UP', true, givenUpText(calls)),
      jobId,
    })),
    ...signs.queues.flatMap(({ id, workersMax, queued }) =>
      queueLimits({ workersMax, queued, ofAccount: 0, quota: null }).map((limit) =>
        ofEndpoint(id, limit.limit, true, limitText(limit)),
      ),
    ),
    ...[...throttled].map(([id, refusal]) => ofEndpoint(id, 'NO_PLACE', false, textOf(refusal))),
    ...signs.queues
      .filter(({ id }) => !throttled.has(id) && !signs.cannotRun.has(id))
      .flatMap(({ id, limits }) =>
        limits
          .filter(({ limit }) => SET_BY_OTHERS.includes(limit))
          .map((limit) => ofEndpoint(id, limit.limit, false, limitText(limit))),
      ),
    ...signs.endpoints.flatMap(({ id }) =>
      signs.refusedAt(id).map((limit) => ofEndpoint(id, limit.limit, false, limitText(limit))),
    ),
  ];
}

/** Returns the problems that affect all endpoints of an account. */
function accountProblems({ endpoints, queues, refusedOf }: Signs): Problem[] {
  const accounts = new Set(endpoints.map(({ accountId }) => accountId));
  return [...accounts].flatMap((accountId) => {
    const own = queues.filter((queue) => queue.accountId === accountId);
    const ofAccount = own.reduce((sum, { queued }) => sum + queued, 0);
    const limits = [
      ...queueLimits({ workersMax: Infinity, queued: 0, ofAccount, quota: own[0]?.quota ?? null }),
      ...refusedOf(accountId),
    ];
    return limits.map(
      (limit): Problem => ({
        kind: limit.limit,
        broken: false,
        about: 'ACCOUNT',
        id: accountId,
        name: ACCOUNT_TEXT,
        accountId,
        jobId: '',
        text: limitText(limit),
      }),
    );
  });
}

function ofEndpoint(id: string, kind: ProblemKind, broken: boolean, text: string): Problem {
  return { kind, broken, about: 'ENDPOINT', id, name: '', accountId: '', jobId: '', text };
}

function podProblem({ id, name, accountId, statusText, exitCode }: FailedPod): Problem {
  const code = exitCode === null ? '' : ` with exit code ${exitCode}`;
  const text = statusText === '' ? `It ended${code}.` : sentence(statusText);
  return { kind: 'POD_FAILED', broken: true, about: 'POD', id, name: name || id, accountId, jobId: '', text };
}

function drainedPodProblem({ id, name, accountId, reason, deadlineMs }: DrainedPod): Problem {
  const until = deadlineMs === null ? '' : `; the deadline is ${new Date(deadlineMs).toISOString()}`;
  const why = reason === '' ? '' : ` Reason: ${sentence(reason)}`;
  const text = `Its machine is being emptied${until}.${why} ${DRAINED_POD_CHANGE}`;
  return { kind: 'POD_MACHINE_DRAINED', broken: true, about: 'POD', id, name: name || id, accountId, jobId: '', text };
}

function heldText({ version, goodVersion, reason }: HeldRelease): string {
  const { text } = describeRollout(version, {
    version,
    state: 'HELD',
    goodVersion,
    roomMade: false,
    checked: true,
    reason,
    ageMs: 0,
  });
  return `${sentence(text)} To change that: ${HELD_CHANGE}.`;
}

function secretText(refusal: SecretRefusal): string {
  const text = `No worker of its latest version can start: ${secretRefusalText(refusal)}`;
  return `${text}. To change that: ${secretRefusalChange(refusal)}.`;
}

function failedModelText(model: FailedModel, operator: boolean): string {
  const text = sentence(on(failedText(model), model, operator));
  return `${text} To change that: ${modelFaultChange(model.fault)}.`;
}

function crashedText(count: number): string {
  const who = count === 1 ? 'One worker has' : `${count} workers have`;
  return `${who} crashed or could not start; others are started after a pause. The endpoint's page says why.`;
}

function oldText({ queued, oldestWaitMs, limits }: WaitingQueue): string {
  const own = limits.find(({ limit }) => limit === 'WORKERS_MAX');
  const waits = queued === 1 ? 'A job has' : `${queued} jobs wait, the first of them has`;
  return sentence(`${waits} waited ${Math.floor(oldestWaitMs / 60_000)} min${own ? `; ${own.text}` : ''}`);
}

function givenUpText({ count, lastError }: Omit<GivenUpWebhooks, 'id' | 'jobId'>): string {
  const calls = count === 1 ? 'One webhook call was' : `${count} webhook calls were`;
  return sentence(
    `${calls} given up within the last hour, the latest because ${lastError || 'its receiver did not take it'}`,
  );
}

function limitText(limit: ScaleLimit): string {
  const { text, change } = withChange(limit);
  return `${sentence(text)} To change that: ${change}.`;
}
