/** Finds the worker or pod whose log a request names, and reads it. */

import type { JobLogPage, JobLogPlace } from '@slipway/proto/gen/slipway/v1/job_log';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import { endpointNotFound, isId } from '../../plugins/public-id.ts';
import type { LineLogParts, ReadPage } from './log-of-lines.ts';

/** Lines of a page, the most that the contract has. */
const LINES_MAX = 1_000;

/** Returns the reader for the worker of `endpointId` and `workerId`. */
export function workerReader({ core }: Pick<LineLogParts, 'core'>): (request: FastifyRequest) => ReadPage {
  return ({ params, caller: { apiKey } }) => {
    const { endpointId, workerId } = params as { endpointId: string; workerId: string };
    if (!isId(endpointId)) throw endpointNotFound();
    if (!isId(workerId)) throw new CoreError('NOT_FOUND', 'There is no such worker.');
    return async (offset) => {
      const asked = { workerId, endpointId, tailBytes: 0, job: placeAt(offset) };
      const { job } = await core.machines.call((client) => client.getWorkerLog, asked, { apiKey, repeatable: true });
      return present(job, 'The agent of this worker does not report log lines: it is of an earlier release.');
    };
  };
}

/** Returns the reader for the pod of `podId`, or for a worker by its id alone, as in REST v1. */
export function podReader({ core }: Pick<LineLogParts, 'core'>): (request: FastifyRequest) => ReadPage {
  return ({ params, caller: { apiKey } }) => {
    const { podId: id } = params as { podId: string };
    if (!isId(id)) throw new CoreError('NOT_FOUND', 'There is no such pod.');
    return async (offset) => {
      const { page } = await core.pods.call(
        (client) => client.getPodLog,
        { id, tailBytes: 0, place: placeAt(offset) },
        { apiKey, repeatable: true },
      );
      return present(page, 'Core does not report log lines of pods: it is of an earlier release.');
    };
  };
}

function placeAt(offset: number): JobLogPlace {
  return { jobId: '', attempt: 0, offset, limit: LINES_MAX };
}

function present(page: JobLogPage | undefined, missing: string): JobLogPage {
  if (!page) throw new CoreError('UNAVAILABLE', missing);
  return page;
}
