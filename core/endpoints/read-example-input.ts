/** Reads the example of a request to an endpoint: the only place that decides which one people see. */
import { endpointNotFound } from '../domain/accounts/permission.ts';
import type { ChosenInput } from '../domain/resources/example-input.ts';
import { chooseExampleInput } from '../domain/resources/example-input.ts';
import type { Stores } from '../store/storage.ts';

/** Largest input of a job that is read for an example, in bytes. */
const JOB_BYTES_MAX = 1_048_576;

/**
 * Returns the example. `withJobs`: may be the input of the last completed job. Throws ENDPOINT_NOT_FOUND if the
 * endpoint was deleted in the meantime.
 */
export async function readExampleInput(
  { endpoints, templates, jobs }: Pick<Stores, 'endpoints' | 'templates' | 'jobs'>,
  endpointId: string,
  withJobs: boolean,
): Promise<ChosenInput> {
  const [[endpoint], run] = await Promise.all([endpoints.byIds([endpointId]), templates.ofEndpoints([endpointId])]);
  if (!endpoint) throw endpointNotFound(endpointId);
  const last = async () => (withJobs ? jobs.lastCompletedInput(endpointId, JOB_BYTES_MAX) : undefined);
  return chooseExampleInput(endpoint, run.get(endpointId), last);
}
