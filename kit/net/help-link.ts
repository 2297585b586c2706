/** Links from errors to the list of error codes, which every facade serves as a page. */
import type { ErrorCode, GraphqlCode } from './error-help.ts';
import { ERROR_HELP } from './error-help.ts';

const OPENAI_HELP = ERROR_HELP['Codes of OpenAI routes'];

/** Path of the page that every facade serves, with the codes as fragments. */
export const ERRORS_PATH = '/docs/errors';
/**
 * Path of the same page on every host, also on the host of a load-balancing endpoint or of a pod, where all other paths
 * go to the worker.
 */
export const ERRORS_PATH_OF_ANY_HOST = '/.well-known/slipway/errors';

/** Returns the address of a code's entry, relative to the service. */
export function helpAddress(code: GraphqlCode, path = ERRORS_PATH): string {
  return `${path}#${code}`;
}

/** Returns the `Link` header of an error's answer (RFC 8288). */
export function helpLink(code: ErrorCode, path = ERRORS_PATH): string {
  return `<${helpAddress(code, path)}>; rel="help"`;
}

/** Returns whether a path, with or without a query, is the path of the page on every host. */
export function isErrorsPage(url: string): boolean {
  return url === ERRORS_PATH_OF_ANY_HOST || url.startsWith(`${ERRORS_PATH_OF_ANY_HOST}?`);
}

/** Returns whether a code in OpenAI's envelope is ours; a worker's own error has its own code. */
export function isOpenaiCode(code: unknown): code is keyof typeof OPENAI_HELP {
  return typeof code === 'string' && Object.hasOwn(OPENAI_HELP, code);
}
