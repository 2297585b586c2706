/** Why a job is where it is, and its record without its output: what changes on a job's page. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { CoreError } from '../../../proto/wire/reason.ts';
import { isId } from '../../plugins/authenticate.ts';
import { jobExplanationRecord } from '../../resources/explanations/present-explanation.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';

/** The feed of a job. */
export function jobPage({ core, clock }: ConsoleParts, apiKey: string, endpointId: string, jobId: string): FeedSource {
  return { read: async () => ({ nowMs: clock.nowMs(), ...await lookAt(core, apiKey, endpointId, jobId) }) };
}

/** Adds the route. */
export function jobRoutes(app: FastifyInstance, { core, clock }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/endpoints/:endpointId/jobs/:jobId', { onRequest }, async (request) => {
    const { endpointId, jobId } = request.params as { endpointId: string; jobId: string };
    return { nowMs: clock.nowMs(), ...await lookAt(core, request.caller.apiKey, endpointId, jobId) };
  });
}

async function lookAt(core: ConsoleParts['core'], apiKey: string, endpointId: string, jobId: string) {
  if (!isId(endpointId) || !isId(jobId)) throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
  const options = { apiKey, repeatable: true };
  const [{ job }, { explanation }] = await Promise.all([
    core.jobs.call((client) => client.getJob, { endpointId, jobId, omitOutput: true, ttlMs: 0 }, options),
    core.jobs.call((client) => client.explain, { endpointId, jobId }, options),
  ]);
  if (!job || !explanation) throw new CoreError('INTERNAL', 'core answered without a job');
  const { id, error, delayMs, executionMs, retries, workerId, attempt, submitTime, finishTime } = job;
  return {
    id, error, delayMs, executionMs, retries, workerId, attempt, submitMs: submitTime?.getTime(), finishMs: finishTime?.getTime(),
    why: jobExplanationRecord(explanation),
  };
}
