/**
 * Builds the headers of forwarded requests and responses: strips hop-by-hop headers, keys, our own cookies and headers
 * that only we may set. Pure.
 */
import type { IncomingMessage } from 'node:http';
import { setsOwnCookie, withoutOwnCookies } from '@slipway/kit/net/own-cookies';
import type { PathForm } from '@slipway/kit/net/path-form';
import { inPathForm } from '@slipway/kit/net/path-form';

/** Header that names the worker, in requests and responses. */
export const WORKER_HEADER = 'x-runpod-worker-id';
/** Hop-by-hop headers (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'expect',
]);
/** Headers that a worker must not see or could not trust. */
const STRIPPED =
  /^(authorization|x-runpod-worker-id|x-(slipway|envoy)-.*|x-forwarded-(for|host|proto|prefix|port)|forwarded|x-real-ip)$/;
/** Headers that a client cannot drop by naming them in Connection. */
const NEVER_DROPPED = new Set(['host', 'content-length']);
/** Host of a request that names none. The same as at an edge (edge/envoy-config/http.ts). */
const NO_HOST = 'none.invalid';

/** Methods that usually have no body: then they send no Content-Length (RFC 9110, 8.6). */
const BODYLESS_METHOD = /^(GET|HEAD|DELETE|OPTIONS|TRACE|CONNECT)$/;

/** How a request arrived. */
interface Origin {
  /** Prefix that was cut off the path. */
  prefix: string;
  remoteAddress: string;
  /** Authorization is forwarded instead of stripped. */
  keepsKey?: boolean;
}

/**
 * Returns the headers for the worker, names and values alternating. `upgrade`: protocol to switch to; `undefined` if
 * none.
 */
export function requestHeaders(
  request: IncomingMessage,
  { prefix, remoteAddress, keepsKey = false }: Origin,
  upgrade: string | undefined,
): string[] {
  const { headers } = request;
  const kept = pairs(request.rawHeaders, dropped(headers.connection))
    .filter(([name]) => !isStripped(name) || (keepsKey && /^authorization$/i.test(name)))
    .flatMap(withoutOurs);
  const isChunked = headers['transfer-encoding'] !== undefined;
  const before = headers['x-forwarded-for'];
  const added: [string, string | undefined][] = [
    // HTTP/1.0 needs none, HTTP/1.1 does.
    ['Host', headers.host === undefined ? NO_HOST : undefined],
    ['X-Forwarded-For', [...(before === undefined ? [] : [before].flat()), remoteAddress].join(', ')],
    ['X-Forwarded-Host', text(headers['x-forwarded-host']) ?? headers.host],
    ['X-Forwarded-Proto', text(headers['x-forwarded-proto']) ?? 'http'],
    ['X-Forwarded-Prefix', prefix || undefined],
    // Present only if a trusted proxy has set them.
    ['Forwarded', text(headers.forwarded)],
    ['X-Real-IP', text(headers['x-real-ip'])],
    ['TE', /\btrailers\b/i.test(text(headers['te']) ?? '') ? 'trailers' : undefined],
    ['Transfer-Encoding', isChunked ? 'chunked' : undefined],
    // Node would send an empty chunk, which a server without chunked encoding takes for the start of the next request.
    [
      'Content-Length',
      isChunked || headers['content-length'] !== undefined || BODYLESS_METHOD.test(request.method ?? '')
        ? undefined
        : '0',
    ],
    ['Connection', upgrade === undefined ? undefined : 'Upgrade'],
    ['Upgrade', upgrade],
  ];
  return [...kept, ...added.filter((pair): pair is [string, string] => pair[1] !== undefined)].flat();
}

function withoutOurs([name, value]: [string, string]): [string, string][] {
  if (!/^cookie$/i.test(name)) return [[name, value]];
  const left = withoutOwnCookies(value);
  return left === '' ? [] : [[name, left]];
}

/**
 * Returns whether a header is stripped, also with underscores: CGI-like interfaces such as WSGI map dashes to
 * underscores, so such a name could spoof a stripped header.
 */
function isStripped(name: string): boolean {
  return STRIPPED.test(name.toLowerCase().replaceAll('_', '-'));
}

/**
 * Returns the headers for the client, names and values alternating. `workerId`: empty for a pod. `form`: `undefined` in
 * the host form.
 */
export function responseHeaders(
  response: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  workerId: string,
  form: PathForm | undefined,
): string[] {
  const kept = pairs(response.rawHeaders, dropped(response.headers.connection))
    .filter(
      ([name, value]) =>
        !/^x-(runpod-worker-id|slipway-full)$/i.test(name) && !(/^set-cookie$/i.test(name) && setsOwnCookie(value)),
    )
    .flatMap(([name, value]) => {
      const shown = form ? inPathForm(name, value, form) : value;
      return shown === undefined ? [] : [name, shown];
    });
  return [...kept, ...(workerId === '' ? [] : ['X-Runpod-Worker-Id', workerId])];
}

/** Returns the path form of a request. `undefined` in the host form. */
export function pathFormOf({ headers }: Pick<IncomingMessage, 'headers'>, prefix: string): PathForm | undefined {
  if (prefix === '') return undefined;
  return { prefix, host: text(headers['x-forwarded-host']) ?? headers.host, proto: text(headers['x-forwarded-proto']) };
}

function dropped(connection: string | undefined): Set<string> {
  const named = (connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && !NEVER_DROPPED.has(name));
  return new Set([...HOP_BY_HOP, ...named]);
}

function pairs(raw: readonly string[], without: ReadonlySet<string>): [string, string][] {
  const kept: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2)
    if (!without.has(raw[i]!.toLowerCase())) kept.push([raw[i]!, raw[i + 1]!]);
  return kept;
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
