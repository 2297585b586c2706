/** Builds the job engine of a replica: its use cases, singleton tasks and notifier. */

import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Service } from '@slipway/kit/lifecycle/service';
import { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Job } from './domain/jobs/job.ts';
import type { PrivateWebhooks } from './domain/jobs/webhook-url.ts';
import { s3ConfigIdentity } from './domain/settings/sealed-identity.ts';
import type { CoreEvents } from './events/core-events.ts';
import { Notifier } from './events/notifier.ts';
import type { SingletonTaskRegistry } from './events/singleton-task-registry.ts';
import { CancelJob } from './jobs/change/cancel-job.ts';
import { ChangeJobs } from './jobs/change/change-jobs.ts';
import { DeleteJobs } from './jobs/change/delete-jobs.ts';
import { RedriveWebhook } from './jobs/change/redrive-webhook.ts';
import { RetryJob } from './jobs/change/retry-job.ts';
import { ClaimJobs } from './jobs/claim-jobs.ts';
import type { EngineMeter } from './jobs/engine-meter.ts';
import type { AttemptCalls, BatchJobCalls, JobCalls, JobEngine } from './jobs/job-engine.ts';
import { JobLog } from './jobs/job-log.ts';
import type { LiveJobs } from './jobs/live-jobs.ts';
import type { CannotRunReader } from './jobs/read/count-jobs.ts';
import { CountJobs } from './jobs/read/count-jobs.ts';
import { JobErrors } from './jobs/read/job-errors.ts';
import { ListJobs } from './jobs/read/list-jobs.ts';
import { ReadChunks } from './jobs/read/read-chunks.ts';
import { ReadJob } from './jobs/read/read-job.ts';
import { SearchJobs } from './jobs/read/search-jobs.ts';
import { WaitJob } from './jobs/read/wait-job.ts';
import { LoseAttempts } from './jobs/record/lose-attempts.ts';
import { RecordChunks } from './jobs/record/record-chunks.ts';
import { RecordOutcomes } from './jobs/record/record-outcomes.ts';
import { RecordProgress } from './jobs/record/record-progress.ts';
import type { SlotSource } from './jobs/slots.ts';
import type { ExecutionTimesReader } from './jobs/submit/early-runs.ts';
import { EarlyRuns } from './jobs/submit/early-runs.ts';
import { EndpointFactsCache } from './jobs/submit/endpoint-facts.ts';
import { OutageTracker } from './jobs/submit/outage-tracker.ts';
import { QueueCursors } from './jobs/submit/queue-cursors.ts';
import { QueueGate } from './jobs/submit/queue-gate.ts';
import { SubmitAndWait } from './jobs/submit/submit-and-wait.ts';
import { SubmitBatch } from './jobs/submit/submit-batch.ts';
import { SubmitJob } from './jobs/submit/submit-job.ts';
import { TrafficMeter } from './jobs/submit/traffic-meter.ts';
import { DeadlineEnforcer } from './singleton-tasks/deadline-enforcer.ts';
import { DecisionReaper } from './singleton-tasks/decision-reaper.ts';
import { DeletionFinisher } from './singleton-tasks/deletion-finisher.ts';
import { DrainEnforcer } from './singleton-tasks/drain-enforcer.ts';
import { EncryptionBackfill } from './singleton-tasks/encryption-backfill.ts';
import { EphemeralReaper } from './singleton-tasks/ephemeral-reaper.ts';
import { ExpiryReaper } from './singleton-tasks/expiry-reaper.ts';
import { LeaseRescuer } from './singleton-tasks/lease-rescuer.ts';
import { LoadRecorder } from './singleton-tasks/load-recorder.ts';
import { QueueRecounter } from './singleton-tasks/queue-recounter.ts';
import { QueueWatcher } from './singleton-tasks/queue-watcher.ts';
import { SecretKeySealer, SecretKeyWatcher } from './singleton-tasks/secret-key-sealer.ts';
import { TrafficWriter } from './singleton-tasks/traffic-writer.ts';
import type { WebhookAuthorities } from './singleton-tasks/webhook-caller.ts';
import { WebhookDeliverer } from './singleton-tasks/webhook-deliverer.ts';
import type { Storage, Stores } from './store/storage.ts';

interface JobEngineOptions {
  stores: Stores;
  openChannel: Storage['openChannel'];
  events: CoreEvents;
  live: LiveJobs;
  slots: SlotSource;
  times: ExecutionTimesReader;
  /** See EarlyRuns. Default: its own. */
  lateMs?: number | undefined;
  sealer: Sealer;
  /** The singleton tasks that this replica holds. */
  singletonTasks: SingletonTaskRegistry;
  /** Reads which endpoints no machine could ever run, and why. */
  cannotRun: CannotRunReader;
  /** Default: no metrics. */
  meter?: EngineMeter;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
  config: { webhookAllowPrivate: PrivateWebhooks; auditDays?: number; usageDays?: number };
  /** Authorities trusted for webhooks in addition to the machine's. Default: none. */
  webhookAuthorities?: WebhookAuthorities | undefined;
}

/** Most bytes that may wait to be validated, in total and per account. */
const CHECKS_BYTES_MAX = 256 * 1024 * 1024;
const CHECKS_ACCOUNT_BYTES_MAX = CHECKS_BYTES_MAX / 4;

/** Builds the parts that several use cases share. */
function buildShared(options: JobEngineOptions) {
  const { stores, clock, meter } = options;
  const facts = new EndpointFactsCache(options);
  const tasks = new TaskGroup('job engine');
  const checks = new SlicedWork({
    name: 'checks',
    bytesMax: CHECKS_BYTES_MAX,
    ownerBytesMax: CHECKS_ACCOUNT_BYTES_MAX,
    meter: meter?.budgets,
    clock,
  });
  const reads = new ReadJob(stores, clock, meter?.batches);
  const waits = new WaitJob({ ...options, reads });
  const jobLog = new JobLog(options);
  const { webhookAllowPrivate: allowPrivate } = options.config;
  const webhooks = new WebhookDeliverer({
    ...options,
    task: options.singletonTasks.of('webhooks'),
    allowPrivate,
    authorities: options.webhookAuthorities,
  });
  return {
    ...options,
    facts,
    tasks,
    checks,
    reads,
    waits,
    webhooks,
    outage: new OutageTracker({ ...options, signal: tasks.signal }),
    early: new EarlyRuns(options),
    cursors: new QueueCursors(clock),
    gate: new QueueGate(stores, clock),
    traffic: new TrafficMeter(),
    onFinal: (job: Job): void => {
      jobLog.ended(job);
      waits.resolve(job);
    },
    onWebhooks: webhooks.wake.bind(webhooks),
  };
}

type Shared = ReturnType<typeof buildShared>;

/**
 * Builds the engine. Nothing runs before the services are started. The notifier and the wait poll start first, loops
 * that change jobs last.
 */
export function buildJobEngine(options: JobEngineOptions): JobEngine {
  const { singletonTasks } = options;
  const shared = buildShared(options);
  const attempts = buildAttemptCalls(shared);
  const deletes = new DeleteJobs(shared);
  const timedOut = (job: Job): void => {
    shared.traffic.timedOut(job.endpointId);
    shared.onFinal(job);
  };
  return {
    ...buildJobCalls(shared, deletes),
    attempts,
    checks: shared.checks,
    deleteJobs: (endpointId) => deletes.deleteAll(endpointId),
    services: [
      shared.tasks,
      new Notifier(shared),
      shared.waits.service,
      new QueueWatcher(shared),
      new TrafficWriter(shared),
      new DeadlineEnforcer({ ...shared, onFinal: timedOut, task: singletonTasks.of('deadlines') }),
      new ExpiryReaper({ ...shared, task: singletonTasks.of('expiry') }),
      new QueueRecounter({ ...shared, task: singletonTasks.of('counts') }),
      new DecisionReaper({ ...shared, task: singletonTasks.of('decisions') }),
      new LoadRecorder({ ...shared, task: singletonTasks.of('loads') }),
      new DeletionFinisher({ ...shared, deletes, task: singletonTasks.of('deletions') }),
      new DrainEnforcer({ ...shared, attempts, task: singletonTasks.of('drains') }),
      new EphemeralReaper({ ...shared, task: singletonTasks.of('drains') }),
      new LeaseRescuer({ ...shared, attempts, task: singletonTasks.of('rescue') }),
      shared.webhooks,
      new EncryptionBackfill(shared),
      ...secretKeyServices(shared, singletonTasks),
    ],
  };
}

/** Returns the services of a replica with two secret keys. */
function secretKeyServices(shared: Shared, singletonTasks: SingletonTaskRegistry): Service[] {
  if (shared.sealer.fingerprints().length === 1) return [];
  return [new SecretKeyWatcher(shared), new SecretKeySealer({ ...shared, task: singletonTasks.of('seals') })];
}

function buildJobCalls(shared: Shared, deletes: DeleteJobs): Pick<JobEngine, 'calls' | 'batchCalls'> {
  const { reads, waits } = shared;
  const batch = new SubmitBatch(shared);
  const submits = new SubmitJob({ ...shared, batch, webhookAllowPrivate: shared.config.webhookAllowPrivate });
  const submitAndWait = new SubmitAndWait({ submits, waits, reads });
  const chunks = new ReadChunks(shared);
  const cancels = new CancelJob(shared);
  const retries = new RetryJob(shared);
  const changes = new ChangeJobs(shared);
  const webhooks = new RedriveWebhook(shared);
  const lists = new ListJobs(shared.stores);
  const searches = new SearchJobs(shared.stores);
  const errors = new JobErrors(shared);
  const counts = new CountJobs(shared.stores, shared.cannotRun, shared.clock);
  const calls: JobCalls = {
    submit: async (submission) => submits.store(await submits.prepare(submission)),
    submitAndWait: (submission, stopper, onStored) => submitAndWait.run(submission, stopper, onStored),
    get: (key, request) => reads.get(key, request),
    input: (key) => reads.input(key),
    wait: (key, waitMs, stopper, acquireMemory) => waits.wait(key, waitMs, stopper, acquireMemory),
    readChunks: (key, request, stopper, acquireMemory) => chunks.read(key, request, stopper, acquireMemory),
    cancel: (key) => cancels.cancel(key),
    retry: (key) => retries.retry(key),
    change: (request) => changes.change(request),
    purge: (endpointId) => deletes.purge(endpointId),
    list: (endpointId, page) => lists.list(endpointId, page),
    search: (request) => searches.search(request),
    errors: (endpointId, request) => errors.list(endpointId, request),
    health: (endpointId) => counts.count(endpointId),
    webhooks: (key, filters) => webhooks.list(key, filters),
    redriveWebhook: (key) => webhooks.redrive(key),
  };
  const announce: BatchJobCalls['announce'] = (stored, jobs) => {
    const byId = new Map(jobs.map(({ job }) => [job.id, job]));
    for (const each of stored) batch.announceQueued(each, byId.get(each.job.id)!);
  };
  const withdrawn: BatchJobCalls['withdrawn'] = (deleted) => deletes.announce(deleted, 'withdrawn by its batch');
  const { get, cancel, readChunks } = calls;
  return {
    calls,
    batchCalls: { get, cancel, readChunks, prepare: (submission) => submits.prepare(submission), announce, withdrawn },
  };
}

function buildAttemptCalls(shared: Shared): AttemptCalls {
  const { stores, sealer, early } = shared;
  const claims = new ClaimJobs(shared);
  const outcomes = new RecordOutcomes(shared);
  const progress = new RecordProgress(shared);
  const chunks = new RecordChunks({
    ...shared,
    onBroken: ({ endpointId, jobId, attempt, machineId }, error) => {
      progress.forget({ endpointId, jobId, attempt, machineId });
      return outcomes.record({ endpointId, jobId, attempt, machineId, kind: 'FAILED', output: undefined, error });
    },
  });
  const recordOutcome: AttemptCalls['recordOutcome'] = (outcome) => {
    progress.forget(outcome);
    const before = chunks.pending(outcome);
    return before ? before.then(() => outcomes.record(outcome)) : outcomes.record(outcome);
  };
  const losses = new LoseAttempts({ stores, recordOutcome });
  return {
    mayClaim: (endpointId) => claims.mayClaim(endpointId),
    claim: (endpointId, slots) => claims.claim(endpointId, slots),
    claimPrefetch: (endpointId, slots, claimed) => claims.claimPrefetch(endpointId, slots, claimed),
    postpone: (waiting) => stores.attempts.postpone(waiting),
    replaceable: (workers) => stores.attempts.replaceable(workers),
    recordOutcome,
    appendChunks: (given) => {
      const runs = given.flatMap((chunk) => early.of(chunk) ?? []);
      if (runs.length === 0) return chunks.append(given);
      return Promise.all(runs.map((run) => early.store(run))).then(() => chunks.append(given));
    },
    recordProgress: (key, output) => progress.show(key, output),
    loseAttempts: (holder, held, cause) => losses.lose(holder, held, cause),
    readInput: (key) => stores.attempts.readInput(key),
    isCurrent: (key) => stores.attempts.isCurrent(key),
    openS3Config: ({ endpointId, jobId, s3ConfigSealed }) =>
      s3ConfigSealed && sealer.open(s3ConfigSealed, s3ConfigIdentity(endpointId, jobId)),
  };
}
