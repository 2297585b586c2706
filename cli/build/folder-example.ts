/** The example request in a folder, which its endpoint carries. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, parseExact } from '@slipway/kit/bytes/exact-json';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { UsageError } from '../failures.ts';

/** File of a job, which the worker SDK's own local mode reads too. */
export const JOB_FILE = 'test_input.json';
/** File of a request to a load-balancing endpoint. */
export const REQUEST_FILE = 'test_request.json';
/** Longest example that an endpoint carries, in bytes. */
const EXAMPLE_BYTES_MAX = 65_536;

/**
 * Returns the input in test_input.json, of type LB the request in test_request.json, as JSON text. `undefined` if there
 * is none or it is too long. Throws UsageError if the file is not JSON, or is no job.
 */
export function exampleOfFolder(folder: string, type: EndpointType): string | undefined {
  const file = join(folder, type === EndpointType.LB ? REQUEST_FILE : JOB_FILE);
  if (!existsSync(file)) return undefined;
  const value = parse(file);
  const example = type === EndpointType.LB ? value : inputOf(value);
  if (!isJsonObject(example))
    throw new UsageError(
      type === EndpointType.LB
        ? `${file} must be a JSON object, as {"path": "/chat", "body": {…}}.`
        : `${file} must have a JSON object as "input", as {"input": {"name": "world"}}.`,
    );
  const text = JSON.stringify(example);
  return Buffer.byteLength(text) > EXAMPLE_BYTES_MAX ? undefined : text;
}

/** Returns the member `input` of a job. `undefined` if there is none. */
export function inputOf(job: unknown): unknown {
  return isJsonObject(job) ? job['input'] : undefined;
}

function parse(file: string): unknown {
  try {
    return parseExact(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file} cannot be read as JSON: ${(error as Error).message}.`);
  }
}
