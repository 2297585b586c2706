/** Example of a request: a JSON object as text, which people see and workers never get. */
import { checkText, invalid } from '../settings/fields.ts';

export const EXAMPLE_BYTES_MAX = 65_536;
const GENERAL = { QB: '{"prompt":"a lighthouse at dusk"}', LB: '{"method":"GET","path":"/ping"}' } as const;

/** An example that was chosen for an endpoint. */
export interface ChosenInput {
  /** JSON object as text. */
  input: string;
  origin: 'ENDPOINT' | 'TEMPLATE' | 'JOB' | 'GENERAL';
  /** Job whose input it is. Empty for the other origins. */
  jobId: string;
  /** True if texts of the job's input were shortened. */
  isCut: boolean;
}

/**
 * Returns the example that people see for an endpoint. The first of these that exists: its own example, the template's
 * example, the input of its last completed job, a general example. Calls `ofJob` only if it is needed.
 */
export async function chooseExampleInput(
  endpoint: { type: 'QB' | 'LB'; exampleInput: string },
  template: { exampleInput: string } | undefined,
  ofJob: () => Promise<ChosenInput | undefined>,
): Promise<ChosenInput> {
  const { type } = endpoint;
  const stored = { jobId: '', isCut: false };
  if (endpoint.exampleInput !== '') return { ...stored, input: endpoint.exampleInput, origin: 'ENDPOINT' };
  const ofTemplate = template?.exampleInput ?? '';
  if (ofTemplate !== '' && isExampleOf(ofTemplate, type)) return { ...stored, input: ofTemplate, origin: 'TEMPLATE' };
  const last = type === 'QB' ? await ofJob() : undefined;
  return last ?? { ...stored, input: GENERAL[type], origin: 'GENERAL' };
}

/** Returns whether the example of a template is a request to endpoints of this type. A template has no type. */
function isExampleOf(text: string, type: 'QB' | 'LB'): boolean {
  try {
    checkExampleInput(text, type);
    return true;
  } catch {
    return false;
  }
}

/**
 * Throws INVALID_REQUEST unless the example is empty or a JSON object of at most 64 KiB. `type`: type of the endpoint.
 * The example of an LB endpoint is an HTTP request. `undefined`: the example of a template, which has no type.
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
