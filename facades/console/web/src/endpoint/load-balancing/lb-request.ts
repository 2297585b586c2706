/**
 * A request to a load-balancing endpoint as it is typed in the page. It is stored for the tab, and validated before it
 * is sent.
 */

import { parseExact } from '@slipway/kit/bytes/exact-json';

/** The request as typed. */
export interface LbRequest {
  method: string;
  path: string;
  /** One header a line: `Name: value`. */
  headers: string;
  kind: 'json' | 'text';
  body: string;
}

/** The methods that can be sent. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

/** The request before an example is known. */
export const FIRST: LbRequest = {
  method: 'GET',
  path: '/ping',
  headers: '',
  kind: 'json',
  body: '{}',
};
/** Longest body, in characters: with a longer one the page is slow at each keystroke. */
const BODY_MAX = 1_000_000;
/** Longest encoded path and headers: the limit of proxies, less the headers that a browser adds. */
const HEAD_MAX = 10_000;
const HEADERS_MAX = 50;
/** Longest body that is stored, in characters. */
const KEPT_BODY_MAX = 100_000;

/** Returns the request that was typed last in this tab. `undefined` if there was none. */
export function keptRequest(id: string): LbRequest | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(nameOf(id)) ?? 'null') as Partial<LbRequest> | null;
    return kept === null ? undefined : { ...FIRST, ...kept };
  } catch {
    return undefined;
  }
}

/** Returns the request of an example: JSON text with `method`, `path` and `body`. */
export function requestOf(example: string): LbRequest {
  const { body, ...asked } = parseExact(example) as { method: string; path: string; body?: unknown };
  return { ...FIRST, ...asked, ...(body === undefined ? {} : { body: JSON.stringify(body, undefined, 2) }) };
}

/** Stores the request for the tab, if the browser's storage allows; never a large body. */
export function keepRequest(id: string, { method, path, headers, kind, body }: LbRequest): void {
  try {
    sessionStorage.setItem(
      nameOf(id),
      JSON.stringify({ method, path, headers, kind, body: body.length < KEPT_BODY_MAX ? body : '' }),
    );
  } catch {
    // The storage is full: the request is sent all the same.
  }
}

/** Returns the fault of the request. Empty if there is none. */
export function faultOf(request: LbRequest): string {
  const { path, kind, body } = request;
  if (!path.startsWith('/')) return 'The path must begin with "/".';
  if (path.includes('#')) return 'A path has no "#": the part after it is never sent. Write it as %23.';
  for (const line of linesOf(request)) {
    if (!/^[^\s:]+\s*:/.test(line))
      return `A header is written as "Name: value", and this is not: ${line.slice(0, 100)}`;
  }
  if (linesOf(request).length > HEADERS_MAX) return `There are more than ${HEADERS_MAX} headers.`;
  if (headOf(request).length > HEAD_MAX)
    return 'The path and the headers are too long to be sent from here. A program may send 16 KiB of them.';
  if (!hasBody(request)) return '';
  if (body.length > BODY_MAX) return 'A body of more than 1 MB is not sent from here. A program may send up to 30 MB.';
  return kind === 'json' ? faultOfJson(body) : '';
}

/** Returns whether a body is sent. A GET or HEAD has none. */
export function hasBody({ method, body }: LbRequest): boolean {
  return mayHaveBody(method) && body !== '';
}

/** Returns whether the method can have a body. */
export function mayHaveBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Returns the headers, with a Content-Type for the body unless one is typed. */
export function headersOf(request: LbRequest): [name: string, value: string][] {
  const written = linesOf(request).map((line): [string, string] => {
    const at = line.indexOf(':');
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  const saysKind = written.some(([name]) => name.toLowerCase() === 'content-type');
  if (!hasBody(request) || saysKind) return written;
  return [['Content-Type', request.kind === 'json' ? 'application/json' : 'text/plain; charset=utf-8'], ...written];
}

/** Returns the path with characters escaped that no URL may contain. */
export function pathOf({ path }: LbRequest): string {
  return path.replaceAll(/[^\x21-\x7e]/gu, (character) =>
    encodeURIComponent(character.isWellFormed() ? character : '\uFFFD'),
  );
}

/** Encodes method, path and headers into one header value. */
export function headOf(request: LbRequest): string {
  const text = JSON.stringify({ method: request.method, path: pathOf(request), headers: headersOf(request) });
  return encodeURIComponent(text.isWellFormed() ? text : text.toWellFormed());
}

function linesOf({ headers }: LbRequest): string[] {
  return headers
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function faultOfJson(body: string): string {
  try {
    JSON.parse(body);
    return '';
  } catch (error) {
    return `The body is not valid JSON: ${(error as Error).message}`;
  }
}

function nameOf(id: string): string {
  return `slipway-request-${id}`;
}
