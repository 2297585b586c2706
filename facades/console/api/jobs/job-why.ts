/** A job's page: its record and the explanation of its state, which change, and data that is read on request. */

import type { WebhookDelivery } from '@slipway/proto/gen/slipway/v1/job_service';
import { WebhookDeliveryState } from '@slipway/proto/gen/slipway/v1/job_service';
import type { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { sendJson } from '../../../jobs/job-parts.ts';
import { isId } from '../../../plugins/public-id.ts';
import { jobExplanationRecord } from '../../../resources/explanations/present-explanation.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import type { FeedSource } from '../../live-feeds.ts';
import type { WebhookView } from '../../views-of-jobs.ts';

/** Returns the feed of a job, with the webhook calls that match a search. */
export function jobPage(
  { core, clock }: ConsoleParts,
  apiKey: string,
  job: { endpointId: string; jobId: string },
  view: ListView,
): FeedSource {
  const read = async (signal: AbortSignal): Promise<object> => {
    const options = { apiKey, repeatable: true, signal };
    // A key for jobs alone may not read endpoints: the page then shows the id.
    const named = core.endpoints.call((client) => client.getEndpoint, { id: job.endpointId }, options);
    const [explained, endpointName, { deliveries }] = await Promise.all([
      explain(core, apiKey, job.endpointId, job.jobId),
      named.then(
        ({ endpoint }) => endpoint?.name ?? '',
        () => '',
      ),
      core.jobs.call((client) => client.listWebhookDeliveries, { ...job, view }, options),
    ]);
    return { nowMs: clock.nowMs(), ...explained, endpointName, webhooks: deliveries.map(webhookView) };
  };
  return { read };
}

const PATH = '/console/api/endpoints/:endpointId/jobs/:jobId';

/** Adds the routes: the record, the submitted input, and the redelivery of a webhook call. */
export function jobRoutes(
  app: FastifyInstance,
  { core, clock, answers }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get(PATH, { onRequest }, async (request) => {
    const { endpointId, jobId } = jobOf(request);
    return { nowMs: clock.nowMs(), ...(await explain(core, request.caller.apiKey, endpointId, jobId)) };
  });
  app.get(`${PATH}/input`, { onRequest }, async (request, reply) => {
    const job = jobOf(request);
    const { answer } = await answers.hold(request, reply, {
      read: () =>
        core.jobs.call((client) => client.getJobInput, job, { apiKey: request.caller.apiKey, repeatable: true }),
      bytesOf: ({ input }) => input.length,
    });
    return sendJson(reply, answer.input);
  });
  app.post(`${PATH}/webhooks`, { onRequest }, async (request): Promise<WebhookView[]> => {
    const { delivery } = await core.jobs.call((client) => client.redriveWebhook, jobOf(request), {
      apiKey: request.caller.apiKey,
      repeatable: false,
    });
    return delivery ? [webhookView(delivery)] : [];
  });
}

/**
 * Adds the route of the lines of workers, live or as a page. It counts against the account's limit of log readers for
 * as long as it is open.
 */
export function jobLogRoute(
  app: FastifyInstance,
  { jobLog }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get(`${PATH}/logs`, { onRequest }, (request, reply) => {
    jobOf(request);
    return jobLog(request, reply);
  });
}

function jobOf(request: FastifyRequest): { endpointId: string; jobId: string } {
  const { endpointId, jobId } = request.params as { endpointId: string; jobId: string };
  if (!isId(endpointId) || !isId(jobId)) throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
  return { endpointId, jobId };
}

function webhookView({ id, state, tries, lastError, redrives, dueTime, endTime }: WebhookDelivery): WebhookView {
  const word = enumName(WebhookDeliveryState, state);
  return {
    id,
    state: word,
    tries,
    lastError,
    redrives,
    dueMs: dueTime?.getTime() ?? 0,
    endMs: endTime?.getTime() ?? 0,
  };
}

async function explain(core: ConsoleParts['core'], apiKey: string, endpointId: string, jobId: string) {
  if (!isId(endpointId) || !isId(jobId)) throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
  const options = { apiKey, repeatable: true };
  const asked = { endpointId, jobId, omitOutput: true, ttlMs: 0, includeMetadata: true };
  const [{ job }, { explanation }] = await Promise.all([
    core.jobs.call((client) => client.getJob, asked, options),
    core.jobs.call((client) => client.explain, { endpointId, jobId }, options),
  ]);
  if (!job || !explanation) throw new CoreError('INTERNAL', 'core answered without a job');
  const { id, error, delayMs, executionMs, retries, workerId, attempt, submitTime, finishTime, metadata } = job;
  return {
    id,
    error,
    delayMs,
    executionMs,
    retries,
    workerId,
    attempt,
    submitMs: submitTime?.getTime(),
    finishMs: finishTime?.getTime(),
    metadata: metadata?.pairs ?? {},
    why: jobExplanationRecord(explanation),
  };
}
