/**
 * Finds the request that npm start shows for a handler, from the files beside it. Without these files it is a request
 * that cannot be wrong.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CoreServices } from '@slipway/facades/core-client/core-services';
import { isJsonObject, parseExact } from '@slipway/kit/bytes/exact-json';
import { by } from './call-by.ts';
import type { LocalFacts } from './local-env.ts';
import { shellQuote } from './local-env.ts';
import { UsageError } from './options.ts';

/** A request to an endpoint. */
export interface ExampleRequest {
  method: string;
  /** Path below the endpoint's address. Begins with a slash. */
  path: string;
  /** JSON body; `undefined` if there is none. */
  body: string | undefined;
}

const EMPTY_JOB = '{"input":{}}';

/**
 * Returns the job in test_input.json, which the worker SDK's own local mode reads too. Handlers usually have one.
 * Throws UsageError.
 */
export function exampleJob(handlerFile: string): ExampleRequest {
  const job = readBeside(handlerFile, 'test_input.json')?.value;
  return { method: 'POST', path: '/runsync', body: job === undefined ? EMPTY_JOB : JSON.stringify(job) };
}

/**
 * Returns the request in test_request.json of a handler that is an HTTP server: `method` (default: POST with a `body`,
 * else GET), `path` (default: /), `body`. Throws UsageError.
 */
export function exampleRequest(handlerFile: string): ExampleRequest {
  const found = readBeside(handlerFile, 'test_request.json');
  if (!found) return { method: 'GET', path: '/', body: undefined };
  const { method, path = '/', body } = (found.value ?? {}) as { method?: unknown; path?: unknown; body?: unknown };
  const chosen = method ?? (body === undefined ? 'GET' : 'POST');
  if (typeof chosen !== 'string' || !/^[A-Z]{1,20}$/.test(chosen))
    throw new UsageError(`In ${found.file} \`method\` must be one of HTTP, as "POST".`);
  if (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path))
    throw new UsageError(`In ${found.file} \`path\` must begin with a slash, as "/chat".`);
  return { method: chosen, path, body: body === undefined ? undefined : JSON.stringify(body) };
}

/** Longest example that an endpoint carries, in bytes. */
const EXAMPLE_BYTES_MAX = 65_536;

/**
 * Returns the request as an endpoint carries it (Endpoint.example_input); empty if no file gave it or it is too long.
 */
export function exampleInput({ lb, example }: { lb: boolean; example: ExampleRequest }): string {
  const { method, path, body } = example;
  if (!lb && body === EMPTY_JOB) return '';
  const parsed = body === undefined ? undefined : parseExact(body);
  const value = lb ? { method, path, body: parsed } : (parsed as { input?: unknown } | null)?.input;
  if (!isJsonObject(value) || (lb && method === 'GET' && path === '/')) return '';
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) > EXAMPLE_BYTES_MAX ? '' : text;
}

/**
 * Returns the request to show: that of a file beside the handler, else the one that core chooses, which the console
 * shows too.
 */
export async function shownExample(
  core: CoreServices,
  key: string,
  endpointId: string,
  handler: { lb: boolean; example: ExampleRequest },
): Promise<ExampleRequest> {
  if (exampleInput(handler) !== '') return handler.example;
  const { input } = await core.endpoints.call((client) => client.getExampleInput, { endpointId }, by(key));
  if (!handler.lb) return { method: 'POST', path: '/runsync', body: `{"input":${input}}` };
  const { method, path, body } = parseExact(input) as { method: string; path: string; body?: unknown };
  return { method, path, body: body === undefined ? undefined : JSON.stringify(body) };
}

/** Returns a command line that sends the request as it is. Streamed output is shown as it arrives. */
export function exampleCurl({
  url,
  endpointId,
  apiKey,
  handler: { lb, example },
}: LocalFacts & { handler: { lb: boolean; example: ExampleRequest } }): string {
  const { method, path, body } = example;
  const asUsual = method === (body === undefined ? 'GET' : 'POST');
  const words = [
    'curl',
    lb ? '-sN' : '-s',
    ...(asUsual ? [] : ['-X', method]),
    urlWord(`${url}/v2/${endpointId}${path}`),
    '-H',
    `'Authorization: Bearer ${apiKey}'`,
    ...(body === undefined ? [] : ['-H', "'Content-Type: application/json'", '-d', shellQuote(body)]),
  ];
  return words.join(' ');
}

const urlWord = (url: string): string => (/^[\w:/.-]+$/.test(url) ? url : shellQuote(url));

function readBeside(handlerFile: string, name: string): { file: string; value: unknown } | undefined {
  const file = join(dirname(handlerFile), name);
  if (!existsSync(file)) return undefined;
  try {
    return { file, value: parseExact(readFileSync(file, 'utf8')) };
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`);
  }
}
