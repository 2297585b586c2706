/**
 * A request to a load-balancing endpoint as one writes it in the page: kept as long as the tab is, and checked before
 * it is sent.
 */

/** As it is written. */
export interface LbRequest {
  method: string;
  path: string;
  /** A line each: `Name: value`. */
  headers: string;
  kind: 'json' | 'text';
  body: string;
}

/** What can be sent. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

const FIRST: LbRequest = {
  method: 'GET',
  path: '/ping',
  headers: '',
  kind: 'json',
  body: '{\n  "prompt": "a lighthouse at dusk"\n}',
};
/** More than this nobody writes by hand, and for each letter of more a page takes long. */
const BODY_MAX = 1_000_000;
/** Of the path and the headers together, as they travel: what proxies let through, less what a browser adds. */
const HEAD_MAX = 10_000;
const HEADERS_MAX = 50;
/** Of a body that is kept, in characters. */
const KEPT_BODY_MAX = 100_000;

/** What was written last in this tab. `isFirst`: nothing was. */
export function keptRequest(id: string): LbRequest & { isFirst: boolean } {
  try {
    const kept = JSON.parse(sessionStorage.getItem(nameOf(id)) ?? 'null') as Partial<LbRequest> | null;
    return { ...FIRST, ...kept, isFirst: kept === null };
  } catch {
    return { ...FIRST, isFirst: true };
  }
}

/** Keeps it for the tab, as far as the browser has room for it; a large body never. */
export function keepRequest(id: string, { method, path, headers, kind, body }: LbRequest): void {
  try {
    sessionStorage.setItem(
      nameOf(id),
      JSON.stringify({ method, path, headers, kind, body: body.length < KEPT_BODY_MAX ? body : '' }),
    );
  } catch {
    // It is sent all the same.
  }
}

/** What is wrong with it, in words; empty: nothing. */
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

/** Bodies of a GET or HEAD mean nothing. */
export function hasBody({ method, body }: LbRequest): boolean {
  return mayHaveBody(method) && body !== '';
}

/** Whether one is asked for. */
export function mayHaveBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Names and values, with the kind of its body unless it names another. */
export function headersOf(request: LbRequest): [name: string, value: string][] {
  const written = linesOf(request).map((line): [string, string] => {
    const at = line.indexOf(':');
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  const saysKind = written.some(([name]) => name.toLowerCase() === 'content-type');
  if (!hasBody(request) || saysKind) return written;
  return [['Content-Type', request.kind === 'json' ? 'application/json' : 'text/plain; charset=utf-8'], ...written];
}

/** As it travels: what no URL may hold is escaped. */
export function pathOf({ path }: LbRequest): string {
  return path.replaceAll(/[^\x21-\x7e]/gu, (character) =>
    encodeURIComponent(character.isWellFormed() ? character : '\uFFFD'),
  );
}

/** Its method, path and headers in one header. */
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
