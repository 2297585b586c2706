/** Reads a job with budget for its output. */

import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jobBytes } from '../jobs/job-bytes.ts';
import type { JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf } from '../jobs/job-parts.ts';

/**
 * Returns the job once the budget has capacity, and holds it until the response ends. Reads the job again if it had
 * to wait.
 */
export async function holdJob(
  { jobs, answers }: JobParts,
  request: FastifyRequest,
  reply: FastifyReply,
  read: () => Promise<Job>,
): Promise<Job> {
  let jobId = '';
  const { answer } = await answers.hold(request, reply, {
    read: async () => {
      const job = await read();
      jobId = job.id;
      return job;
    },
    reread: () =>
      jobs.get(request.caller.apiKey, { endpointId: endpointIdOf(request), jobId, omitOutput: false, ttlMs: 0 }),
    bytesOf: jobBytes,
  });
  return answer;
}
