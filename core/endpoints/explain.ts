/** Explains endpoints and jobs, limited to what the caller may see. */

import { endpointNotFound } from '../domain/accounts/permission.ts';
import type { JobKey } from '../domain/jobs/job.ts';
import { jobNotFound } from '../domain/jobs/job.ts';
import { downloadText, modelFaultChange } from '../domain/machines/cached-model.ts';
import { explainAttempts } from '../domain/reports/attempt-explanation.ts';
import { explainBatches } from '../domain/reports/batch-explanation.ts';
import type {
  AttemptExplanation,
  EndpointExplanation,
  ExplainedJob,
  LoggedDecision,
} from '../domain/reports/explanation.ts';
import { queueLimits, summarizeEndpoint, summarizeJob } from '../domain/reports/explanation.ts';
import { explainMachines } from '../domain/reports/machine-explanation.ts';
import type { EndpointModel } from '../domain/reports/model-explanation.ts';
import { explainModels, on } from '../domain/reports/model-explanation.ts';
import type { ShownRollout } from '../domain/reports/rollout-text.ts';
import { describeRollout, HELD_CHANGE } from '../domain/reports/rollout-text.ts';
import { withChange } from '../domain/reports/what-would-change.ts';
import type { WorkerExplanation } from '../domain/reports/worker-explanation.ts';
import { explainWorker } from '../domain/reports/worker-explanation.ts';
import type { MachineCrashes } from '../domain/scaling/machine-crashes.ts';
import { runsSomewhere, withCrashes } from '../domain/scaling/machine-crashes.ts';
import type { PlacementMachine } from '../domain/scaling/placement-machine.ts';
import { withImages } from '../domain/scaling/placement-machine.ts';
import type { Preemption } from '../domain/scaling/preemption.ts';
import { preemptionLimits, preemptionText } from '../domain/scaling/preemption.ts';
import { wishedChanges } from '../domain/scaling/scale-decision.ts';
import type { ScaleLimit } from '../domain/scaling/scale-target.ts';
import type { ScaleSettings, WorkerSample } from '../domain/scaling/scaler.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Release } from '../store/resources/release-store.ts';
import type { EndpointSample } from '../store/scaling/scale-samples.ts';
import { checkWord, unknownFilter } from '../store/sql/list-filter.ts';
import type { Stores } from '../store/storage.ts';
import type { CannotRun } from './cannot-run.ts';

export interface ExplainContext {
  explains: Stores['explains'];
  scales: Pick<Stores['scales'], 'refusals' | 'crashes' | 'imageMachines'>;
  cachedModels: Pick<Stores['cachedModels'], 'ofEndpoint'>;
  cannotRun: Pick<CannotRun, 'of' | 'machines'>;
  /** Requests that rate limits rejected recently. */
  rejections: { of(accountId: string, endpointId: string): ScaleLimit[] };
}

/** Facts that the caller may see besides jobs. */
export interface ExplainScope {
  /** True if names of machines may be shown. */
  operator: boolean;
  /** True if the last log lines of workers may be shown. */
  workers: boolean;
  /** True if what belongs to other endpoints of the account may be shown. */
  account: boolean;
}

/** Maximum number of workers shown. */
const WORKERS_MAX = 100;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
/** Limits on workers. The others reject jobs and requests. */
const CUTS: readonly ScaleLimit['limit'][] = [
  'WORKERS_MAX',
  'QUOTA',
  'NO_PLACE',
  'FAIR_SHARE',
  'KEPT_GPUS',
  'GAVE_WAY',
  'AT_ONCE',
];

/** Returns the explanation of an endpoint. Throws ENDPOINT_NOT_FOUND. */
export async function explainEndpoint(
  context: ExplainContext,
  endpointId: string,
  sight: ExplainScope,
): Promise<EndpointExplanation> {
  const { explains, scales, cannotRun } = context;
  const seen = await explains.endpoint(endpointId);
  if (!seen) throw endpointNotFound(endpointId);
  const { demand, settings } = seen.sample;
  const shown = demand.workers.slice(0, WORKERS_MAX);
  const shownIds = shown.map(({ id }) => id);
  const [[last], reports, refusals, nowhere, all, images, crashes, queue, preempted, starved, batches, models, name] =
    await Promise.all([
      explains.decisions(endpointId, 0, 1),
      explains.workers(endpointId, shownIds),
      scales.refusals([endpointId]),
      cannotRun.of([endpointId]),
      cannotRun.machines(),
      scales.imageMachines([seen.endpoint]),
      scales.crashes([seen.endpoint]),
      explains.queueLength(endpointId),
      explains.preemptedWorkers(endpointId),
      explains.starved(endpointId),
      explains.batches(endpointId),
      seen.endpoint.modelReferences?.length ? context.cachedModels.ofEndpoint(endpointId) : [],
      explains.name(endpointId),
    ]);
  const what = seen.endpoint.type === 'LB' ? ('request' as const) : ('job' as const);
  const workers = explainWorkers(shown, settings, { reports, preempted, models, what }, sight);
  const text = (refusal: { refusal: string; refusalByMachine: string } | undefined): string =>
    (sight.operator ? refusal?.refusalByMachine : refusal?.refusal) ?? '';
  const now = wishedChanges(seen.sample);
  const own = machinesOf(seen, withImages(all, images.of(seen.endpoint)), crashes.get(endpointId));
  const shownMachines = explainMachines(own, settings, sight.operator);
  // Only the last decision knows the limits of missing slots and quotas.
  const limits = [...now.limits, ...(last?.limits ?? []).filter(({ limit }) => limit !== 'WORKERS_MAX')];
  const never = nowhere.get(endpointId);
  const rollout = describeRollout(seen.released, seen.rollout, sight.workers);
  const reasons = {
    what,
    low: queue.low,
    reason: now.reason,
    cannotRun: never?.secret ? '' : text(never),
    // While an earlier version serves, the text of the rollout says why this one does not.
    secret: rollout.servingVersion === seen.released ? never?.secret : undefined,
    refusal: text(refusals.get(endpointId)),
    limits,
    machines: shownMachines,
    starved,
  };
  return {
    endpointId,
    endpointName: name,
    workers,
    lastDecision: last,
    queued: demand.queued,
    oldestWaitMs: demand.oldestWaitMs,
    running: demand.running,
    summary: withRollout(summarizeEndpoint(demand, settings, workers, reasons), rollout),
    limits: [
      ...limits,
      ...preemptionLimits(preempted),
      ...queueLimits(queue),
      ...context.rejections.of(seen.endpoint.accountId, endpointId),
    ].map((limit) => withChange(limit)),
    machines: shownMachines,
    models: explainModels(seen.endpoint.modelReferences ?? [], models, sight.operator),
    batches: explainBatches(batches, sight.account),
  };
}

function machinesOf(
  { sample: { demand, settings } }: EndpointSample,
  machines: readonly PlacementMachine[],
  crashes: readonly MachineCrashes[] = [],
): PlacementMachine[] {
  return withCrashes(machines, crashes, runsSomewhere(demand.workers, settings.version));
}

/** Further facts about the workers of an endpoint. */
interface WorkerFacts {
  reports: Awaited<ReturnType<ExplainContext['explains']['workers']>>;
  preempted: readonly Preemption[];
  models: readonly EndpointModel[];
  what: 'request' | 'job';
}

function explainWorkers(
  workers: readonly WorkerSample[],
  settings: ScaleSettings,
  { reports, preempted, models, what }: WorkerFacts,
  sight: ExplainScope,
): WorkerExplanation[] {
  const ends = new Map(reports.map((worker) => [worker.id, worker]));
  const preemptions = new Map(preempted.map((worker) => [worker.workerId, preemptionText(worker)]));
  return workers.map((worker) => {
    const seen = ends.get(worker.id);
    const { reason = '', away = false, health = '', offloadFault = '' } = seen ?? {};
    const own = models.filter(({ machineId }) => machineId === worker.machineId);
    const aside = {
      report: sight.workers ? reason : '',
      preemption: preemptions.get(worker.id) ?? '',
      away,
      offloadFault,
      ...(seen && seen.restoreMs !== null && { restored: { bytes: seen.restoreBytes ?? 0, ms: seen.restoreMs } }),
      ...modelFacts(own, sight.operator),
    };
    return explainWorker(worker, settings, what === 'request' ? { ...aside, health } : aside);
  });
}

/** Returns what a worker's explanation says about the models on its machine. */
function modelFacts(models: readonly EndpointModel[], operator: boolean) {
  const downloading = models.find(({ state }) => state === 'DOWNLOADING');
  const failed = models.find(({ state }) => state === 'FAILED');
  return {
    downloading: downloading && on(downloadText(downloading), downloading, operator),
    modelChange: failed && modelFaultChange(failed.fault),
  };
}

/** Adds the state of a rollout in progress. */
function withRollout(summary: string, { state, text }: ShownRollout): string {
  if (state === '') return summary;
  const rolloutText = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  return state === 'HELD' ? `${rolloutText} To change that: ${HELD_CHANGE}. ${summary}` : `${summary} ${rolloutText}`;
}

/** Returns a job with its attempts, and its endpoint while it waits. */
export interface JobExplanation {
  job: ExplainedJob;
  summary: string;
  attempts: AttemptExplanation[];
  endpoint: EndpointExplanation | undefined;
}

/** Returns the explanation of a job. Throws JOB_NOT_FOUND. */
export async function explainJob(context: ExplainContext, key: JobKey, sight: ExplainScope): Promise<JobExplanation> {
  const job = await context.explains.job(key);
  if (!job) throw jobNotFound(key.jobId);
  const [lost, endpoint] = await Promise.all([
    context.explains.lostAttempts(key),
    job.state === 'IN_QUEUE' ? explainEndpoint(context, key.endpointId, sight) : undefined,
  ]);
  const workerIds = [...new Set([job.workerId, ...lost.map(({ workerId }) => workerId)])].filter((id) => id !== '');
  const workers = workerIds.length === 0 ? [] : await context.explains.workers(key.endpointId, workerIds);
  const away = workers.some(({ id, away: gone }) => gone && id === job.workerId);
  return {
    job,
    attempts: explainAttempts(job, lost, workers, sight),
    endpoint,
    summary: summarizeJob(job, endpoint?.summary ?? '', away),
  };
}

/** Returns a page of audit events, latest first. Throws INVALID_REQUEST for an invalid size or id. */
export async function listReleases(
  releases: Stores['releases'],
  endpointId: string,
  size: number,
  beforeId: number,
): Promise<Release[]> {
  checkPage(size, beforeId);
  return releases.list(endpointId, beforeId, size || PAGE_DEFAULT);
}

/** A request for a page of the log of decisions, with its filter. */
interface DecisionsRequest {
  pageSize: number;
  /** Only decisions before this id. 0: the latest. */
  beforeId: number;
  /** Searched text. Empty: all. */
  search: string;
  filters: Readonly<Record<string, string>>;
}

/** Returns a page of the log, latest first. Throws INVALID_REQUEST for an invalid size, id or filter. */
export async function listDecisions(
  { explains }: Pick<ExplainContext, 'explains'>,
  endpointId: string,
  asked: DecisionsRequest,
): Promise<LoggedDecision[]> {
  const {
    pageSize,
    beforeId,
    search,
    filters: { limit: cutBy, acts, ...others },
  } = asked;
  checkPage(pageSize, beforeId);
  for (const name of Object.keys(others)) throw unknownFilter(name, ['acts', 'limit']);
  if (cutBy !== undefined) checkWord('limit', cutBy, CUTS);
  if (acts !== undefined) checkWord('acts', acts, ['yes', 'no']);
  return explains.decisions(endpointId, beforeId, pageSize || PAGE_DEFAULT, {
    search,
    cutBy,
    ...(acts === undefined ? {} : { acts: acts === 'yes' }),
  });
}

function checkPage(size: number, beforeId: number): void {
  if (size < 0 || size > PAGE_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `page_size is ${size}, but must be from 1 to ${PAGE_MAX}, or 0 for ${PAGE_DEFAULT}`,
    );
  }
  if (beforeId < 0) throw new DomainError('INVALID_REQUEST', `before_id is ${beforeId}, but must not be negative`);
}
