/** Example of a request: a JSON object as text, which people see and workers never get. */
import { checkText, invalid } from '../settings/fields.ts';

const EXAMPLE_BYTES_MAX = 65_536;

/**
 * Throws INVALID_REQUEST unless the example is empty or a JSON object of at most 64 KiB. `type`: type of the endpoint;
 * an LB endpoint's example is a request. `undefined`: of a template, which endpoints of both types may run.
 */
export function checkExampleInput(text: string, type?: 'QB' | 'LB'): void {
  if (text === '') return;
  const bytes = Buffer.byteLength(text);
  if (bytes > EXAMPLE_BYTES_MAX)
    throw invalid(`example_input has ${bytes} bytes, but may have ${EXAMPLE_BYTES_MAX}; choose a shorter example`);
  checkText('example_input', text);
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('example_input must be a JSON object, like {"prompt": "hello"}');
  if (type === 'LB') checkRequest(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`example_input is not JSON: ${(error as Error).message.toWellFormed()}`);
  }
}

function checkRequest({ method, path }: { method?: unknown; path?: unknown }): void {
  if (method !== undefined && (typeof method !== 'string' || !/^[A-Z]{1,20}$/.test(method)))
    throw invalid('example_input: `method` of a load-balancing endpoint must be one of HTTP, like "POST"');
  if (path !== undefined && (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path)))
    throw invalid('example_input: `path` of a load-balancing endpoint must begin with a slash, like "/chat"');
}
