/** Reads the example of a request to an endpoint: the only place that decides which one people see. */
import { parseExact } from '@slipway/kit/bytes/exact-json';
import { endpointNotFound } from '../domain/accounts/permission.ts';
import type { ChosenInput } from '../domain/resources/example-input.ts';
import { chooseExampleInput, EXAMPLE_BYTES_MAX } from '../domain/resources/example-input.ts';
import type { Stores } from '../store/storage.ts';

/** Largest input of a job that is read for an example, in bytes. */
const JOB_BYTES_MAX = 1_048_576;
/** Longest text in an example made of a job's input, in characters. Longer ones, images for instance, are shortened. */
const JOB_TEXT_MAX = 1_000;
const JOB_TEXT_KEPT = 100;

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
  const ofJob = async (): Promise<ChosenInput | undefined> => {
    const last = withJobs ? await jobs.lastCompletedInput(endpointId, JOB_BYTES_MAX) : undefined;
    return last && exampleOfJob(last);
  };
  const chosen = await chooseExampleInput(endpoint, run.get(endpointId), ofJob);
  return endpoint.type === 'LB' ? { ...chosen, input: wholeRequest(chosen.input) } : chosen;
}

/** Returns the request with its method and path: by default POST with a body and GET without, to `/`. */
function wholeRequest(text: string): string {
  const { method, path, body } = parseExact(text) as { method?: string; path?: string; body?: unknown };
  return JSON.stringify({ method: method ?? (body === undefined ? 'GET' : 'POST'), path: path ?? '/', body });
}

/** Returns the input of a completed job, with long texts shortened. `undefined` if it is too long even then. */
function exampleOfJob(last: { jobId: string; input: Buffer }): ChosenInput | undefined {
  const whole = last.input.toString('utf8');
  const value = parseExact(whole);
  const short = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' && part.length > JOB_TEXT_MAX ? `${part.slice(0, JOB_TEXT_KEPT).toWellFormed()}…` : part,
  );
  const isCut = short !== JSON.stringify(value);
  // As it was sent, if that is possible.
  const input = isCut ? short : whole;
  if (Buffer.byteLength(input) > EXAMPLE_BYTES_MAX) return undefined;
  return { input, origin: 'JOB', jobId: last.jobId, isCut };
}
