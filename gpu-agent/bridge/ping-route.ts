/**
 * Route ping: the jobs that the worker holds, its SDK version, or why it cannot work
 * (docs/reference/worker-protocol.md#ping, docs/reference/worker-protocol.md#unhealthy-workers).
 */
import type { FastifyInstance } from 'fastify';
import type { BridgeParts } from './bridge-parts.ts';
import { answerNobody, queryText, workerOfCall } from './worker-call.ts';

/** Adds the route. */
export function registerPing(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  app.route({
    method: ['GET', 'POST'],
    url: `${prefix}/ping/:worker`,
    handler: async (request, reply) => {
      const worker = workerOfCall(parts, request);
      if (worker === 'refused') return answerNobody(parts, reply, worker);
      if (worker === 'gone') return reply.code(200).send();
      if (worker.sdk.setVersion(queryText(request, 'runpod_version'))) parts.reporter.changed(worker);
      if (queryText(request, 'status') === 'unhealthy') {
        parts.pool.unhealthy(worker, `Check ${queryText(request, 'check')} failed: ${queryText(request, 'reason')}`);
      } else {
        const jobIds = queryText(request, 'job_id')
          .split(',')
          .filter((id) => id !== '');
        parts.evidence.listed(worker, new Set(jobIds));
      }
      return reply.code(200).send();
    },
  });
}
