/**
 * GET or POST /status/{job_id}: reads a job; `ttl` sets its remaining life, `metadata=true` adds its metadata
 * (docs/reference/api.md#status).
 */

import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import { wantsMetadata } from '../jobs/query-metadata.ts';
import { holdJob } from './hold-job.ts';
import { presentJob } from './present-job.ts';
import { statusTtlMs } from './query-numbers.ts';

/** Returns the handler of the route. */
export function status(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const readRequest = {
      endpointId: endpointIdOf(request),
      jobId: jobIdOf(request),
      omitOutput: false,
      ttlMs: statusTtlMs(request.query),
      includeMetadata: wantsMetadata(request.query),
    };
    return sendJson(
      reply,
      presentJob(await holdJob(parts, request, reply, () => parts.jobs.get(request.caller.apiKey, readRequest))),
    );
  };
}
