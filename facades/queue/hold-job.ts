/** A job's record with room in memory for its output. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Job } from '../../proto/gen/slipway/v1/job.ts';
import { endpointIdOf } from './queue-parts.ts';
import type { QueueParts } from './queue-parts.ts';

/** What `read` answers, as soon as there is room for it until the response ends; read again when there was none at first. */
export async function holdJob({ jobs, answers }: QueueParts, request: FastifyRequest, reply: FastifyReply, read: () => Promise<Job>): Promise<Job> {
  let jobId = '';
  const { answer } = await answers.hold(request, reply, {
    read: async () => {
      const job = await read();
      jobId = job.id;
      return job;
    },
    again: () => jobs.get(request.caller.apiKey, { endpointId: endpointIdOf(request), jobId, omitOutput: false, ttlMs: 0 }),
    bytesOf: jobBytes,
  });
  return answer;
}

/** What of a record can be large. */
export function jobBytes({ output, error }: Job): number {
  return (output?.length ?? 0) + (error?.length ?? 0);
}
