/** JobService: decode, call a use case, encode. */

import type { handleUnaryCall } from '@grpc/grpc-js';
import { freeSentBytes } from '@slipway/kit/bytes/free-bytes';
import type { Service } from '@slipway/kit/lifecycle/service';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock } from '@slipway/kit/time/clock';
import type { JobServiceServer } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import { INLINE_INPUT_BYTES_MAX } from '../../domain/jobs/job-limits.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { ExplainContext } from '../../endpoints/explain.ts';
import { explainJob } from '../../endpoints/explain.ts';
import type { JobCalls } from '../../jobs/job-engine.ts';
import { WaitStopper } from '../../jobs/read/wait-stopper.ts';
import type { Stores } from '../../store/storage.ts';
import type { AccessChecks } from '../accounts/access-checks.ts';
import { sightOf } from '../reports/explain-messages.ts';
import type { CallRate } from '../server/call-rate.ts';
import type { Health } from '../server/health.ts';
import type { ListParts } from '../server/paging.ts';
import { logViewOf, positionFromToken, positionToken, searchOf } from '../server/paging.ts';
import { keyOf, statusOf, unary } from '../server/unary.ts';
import { jobErrorHandlers } from './job-error-handlers.ts';
import { jobExplanationToMessage } from './job-explanation-message.ts';
import { healthToMessage, jobToMessage, selectionFromMessage, webhookToMessage } from './job-messages.ts';
import { JobRpc } from './job-rpc.ts';
import { ManyJobs } from './many-jobs.ts';
import { Pipeline } from './pipeline.ts';
import { readJobLog } from './read-job-log.ts';
import type { LogParts } from './read-log.ts';
import { searchJobsHandler } from './search-jobs-handler.ts';

interface JobHandlersOptions {
  calls: JobCalls;
  explains: ExplainContext & { rate: CallRate };
  logs: LogParts;
  lists: ListParts;
  checks: AccessChecks;
  audit: Stores['audit'];
  /** Default: nothing is traced. */
  tracing?: Tracing | undefined;
  access: Access;
  clock: Clock;
  health: Pick<Health, 'databaseAway'>;
  logger: Logger;
}

/**
 * The handlers, and a service whose stop ends all waits and pipelines. Stop it before the server, which otherwise waits
 * for them.
 */
interface JobHandlers {
  handlers: JobServiceServer;
  service: Service;
}

/** Tracks all waiting calls, so that they can be ended. */
class OpenCalls extends BaseService {
  readonly name = 'job calls';
  readonly #pipelines = new Set<Pipeline>();
  readonly #waits = new Set<WaitStopper>();

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const pipeline of this.#pipelines) pipeline.close();
    for (const wait of this.#waits) wait.stop();
  }

  add(open: (onEnd: () => void) => Pipeline): void {
    const pipeline = open(() => this.#pipelines.delete(pipeline));
    this.#pipelines.add(pipeline);
    if (this.ending.aborted) pipeline.close();
  }

  /** Runs a call that may wait. Its wait is stopped with the process. */
  async wait<Response>(stopper: WaitStopper, run: () => Promise<Response>): Promise<Response> {
    this.#waits.add(stopper);
    if (this.ending.aborted) stopper.stop();
    try {
      return await run();
    } finally {
      this.#waits.delete(stopper);
    }
  }
}

export function createJobHandlers(options: JobHandlersOptions): JobHandlers {
  const { calls, lists, access, checks, tracing, health, clock, logger } = options;
  const rpc = new JobRpc({ calls, access, checks, tracing });
  const open = new OpenCalls();
  return {
    service: open,
    handlers: {
      ...jobErrorHandlers(access, calls, lists),
      ...searchJobsHandler(access, calls, lists),
      ...bulkHandlers(options),
      ...readHandlers(options),
      ...explainHandlers(options),
      pipeline: (stream) => open.add((onEnd) => new Pipeline(stream, { rpc, health, clock, logger, onEnd })),
      submitJob: unary(logger, async (request, apiKey) => {
        const response = await rpc.submit(request, apiKey);
        // Stored; a worker gets a large input from the database.
        if (request.input.length > INLINE_INPUT_BYTES_MAX) freeSentBytes(request.input);
        return response;
      }),
      getJob: unary(logger, (request, apiKey) => rpc.get(request, apiKey)),
      waitJob: waiting(logger, open, (request, apiKey, stopper) => rpc.wait(request, apiKey, stopper)),
      readChunks: waiting(logger, open, (request, apiKey, stopper) => rpc.chunks(request, apiKey, stopper)),
      cancelJob: unary(logger, (request, apiKey) => rpc.cancel(request, apiKey)),
      retryJob: unary(logger, async ({ endpointId, jobId }, apiKey) => {
        await access.check(apiKey, { api: 'JOBS', endpointId, write: true });
        return { job: jobToMessage(await calls.retry({ endpointId, jobId })) };
      }),
      redriveWebhook: unary(logger, async ({ endpointId, jobId }, apiKey) => {
        await access.check(apiKey, { api: 'JOBS', endpointId, write: true });
        return { delivery: webhookToMessage(jobId, await calls.redriveWebhook({ endpointId, jobId })) };
      }),
    },
  };
}

/** Returns the handlers that change many jobs. */
function bulkHandlers({
  calls,
  access,
  audit,
  logger,
}: JobHandlersOptions): Pick<JobServiceServer, 'cancelJobs' | 'retryJobs' | 'purgeQueue'> {
  const many = new ManyJobs({ calls, access, audit });
  return {
    cancelJobs: unary(logger, (request, apiKey) =>
      many.change('cancel', { ...request, errorGroup: '', endedFrom: undefined }, apiKey),
    ),
    retryJobs: unary(logger, (request, apiKey) => many.change('retry', request, apiKey)),
    purgeQueue: unary(logger, async ({ endpointId }, apiKey) => {
      const { accountId, keyId } = await access.check(apiKey, { api: 'JOBS', endpointId, write: true });
      const removed = await calls.purge(endpointId);
      const values = { removed: { new: removed } };
      await audit.record({ accountId, keyId, action: 'PurgeQueue', subjectId: endpointId, fields: [], values });
      return { removed };
    }),
  };
}

/** Returns the handlers that read jobs. */
function readHandlers({
  calls,
  access,
  logger,
}: JobHandlersOptions): Pick<JobServiceServer, 'getJobInput' | 'listJobs' | 'listWebhookDeliveries' | 'getHealth'> {
  return {
    getJobInput: unary(logger, async ({ endpointId, jobId }, apiKey) => {
      await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      return { input: await calls.input({ endpointId, jobId }) };
    }),
    listJobs: unary(logger, async ({ endpointId, pageToken, ...request }, apiKey) => {
      await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      const page = await calls.list(endpointId, {
        ...selectionFromMessage(request),
        after: positionFromToken(pageToken),
      });
      return {
        jobs: page.jobs.map(jobToMessage),
        total: page.total,
        totalCapped: page.totalCapped,
        nextPageToken: positionToken(page.next),
      };
    }),
    listWebhookDeliveries: unary(logger, async ({ endpointId, jobId, view }, apiKey) => {
      await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      if (searchOf(view) !== '') throw invalid('view.search must be empty: webhook calls are not searched');
      return {
        deliveries: (await calls.webhooks({ endpointId, jobId }, logViewOf(view).filters)).map((record) =>
          webhookToMessage(jobId, record),
        ),
      };
    }),
    getHealth: unary(logger, async ({ endpointId }, apiKey) => {
      const { caller } = await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      return healthToMessage(await calls.health(endpointId), caller.scope === 'ROOT');
    }),
  };
}

/** Returns the handlers that explain a job and read its log. */
function explainHandlers({
  explains,
  logs,
  access,
  logger,
}: JobHandlersOptions): Pick<JobServiceServer, 'explain' | 'getJobLog'> {
  return {
    explain: unary(logger, async ({ endpointId, jobId }, apiKey) => {
      const { caller } = await access.check(apiKey, { api: 'JOBS', endpointId });
      explains.rate.admit(caller.accountId);
      const sight = await sightOf(access, apiKey, endpointId, caller);
      return { explanation: jobExplanationToMessage(await explainJob(explains, { endpointId, jobId }, sight)) };
    }),
    getJobLog: unary(logger, (request, apiKey, metadata) =>
      readJobLog({ ...logs, access, explains: explains.explains }, request, apiKey, metadata),
    ),
  };
}

/** Returns a handler that may wait. Its wait is stopped when the caller disconnects or the process stops. */
function waiting<Request, Response>(
  logger: Logger,
  open: OpenCalls,
  handle: (request: Request, apiKey: string, stopper: WaitStopper) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    const stopper = new WaitStopper();
    call.on('cancelled', () => stopper.stop());
    open
      .wait(stopper, () => handle(call.request, keyOf(call.metadata), stopper))
      .then(
        (response) => done(null, response),
        (error: unknown) => done(statusOf(error, call, logger)),
      );
  };
}
