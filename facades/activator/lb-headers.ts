/** Headers on their way through: those of one connection stay there, the key, our own cookies and what only we may say are taken out. Pure. */
import type { IncomingMessage } from 'node:http';
import { setsOwnCookie, withoutOwnCookies } from '../../proto/wire/own-cookies.ts';
import { inPathForm } from '../../proto/wire/path-form.ts';
import type { PathForm } from '../../proto/wire/path-form.ts';

/** Names the worker, in both directions. */
export const WORKER_HEADER = 'x-runpod-worker-id';
/** Of one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'transfer-encoding', 'upgrade', 'expect',
]);
/** What the worker must not see or could not trust. */
const TAKEN = /^(authorization|x-runpod-worker-id|x-(slipway|envoy)-.*|x-forwarded-(for|host|proto|prefix|port)|forwarded|x-real-ip)$/;
/** With a word of Connection a client may take out what it sent for us, but not what says whose the request is and where it ends. */
const STAYS = new Set(['host', 'content-length']);

/** Methods whose requests rarely have bodies: without one they say no length (RFC 9110, 8.6). */
const NO_LENGTH = /^(GET|HEAD|DELETE|OPTIONS|TRACE|CONNECT)$/;

/** How the request came. */
export interface Origin {
  /** What was cut off the path. */
  prefix: string;
  remoteAddress: string;
  /** What stands in Authorization is for what answers, not for us. */
  keepsKey?: boolean;
}

/** Names and values in turns, as the worker gets them. `upgrade`: the connection is to become another protocol. */
export function requestHeaders(request: IncomingMessage, { prefix, remoteAddress, keepsKey = false }: Origin, upgrade: string | undefined): string[] {
  const { headers } = request;
  const kept = pairs(request.rawHeaders, dropped(headers.connection)).filter(([name]) => !isTaken(name) || (keepsKey && /^authorization$/i.test(name)))
    .flatMap(withoutOurs);
  const isChunked = headers['transfer-encoding'] !== undefined;
  const before = headers['x-forwarded-for'];
  const added: [string, string | undefined][] = [
    ['X-Forwarded-For', [...(before === undefined ? [] : [before].flat()), remoteAddress].join(', ')],
    ['X-Forwarded-Host', text(headers['x-forwarded-host']) ?? headers.host],
    ['X-Forwarded-Proto', text(headers['x-forwarded-proto']) ?? 'http'],
    ['X-Forwarded-Prefix', prefix || undefined],
    // Where a proxy has said them that may.
    ['Forwarded', text(headers.forwarded)],
    ['X-Real-IP', text(headers['x-real-ip'])],
    ['TE', /\btrailers\b/i.test(text(headers['te']) ?? '') ? 'trailers' : undefined],
    ['Transfer-Encoding', isChunked ? 'chunked' : undefined],
    // Node would send an empty chunk, which a server that knows no chunks takes for the begin of the next request.
    ['Content-Length', isChunked || headers['content-length'] !== undefined || NO_LENGTH.test(request.method ?? '') ? undefined : '0'],
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

/** Interfaces of the kind of CGI, WSGI among them, take an underscore for a dash: what is spoofed that way is spoofed as well. */
function isTaken(name: string): boolean {
  return TAKEN.test(name.toLowerCase().replaceAll('_', '-'));
}

/** Names and values in turns, as the client gets them. `workerId`: empty for what is no worker. `form`: undefined in the host form. */
export function responseHeaders(response: Pick<IncomingMessage, 'headers' | 'rawHeaders'>, workerId: string, form: PathForm | undefined): string[] {
  const kept = pairs(response.rawHeaders, dropped(response.headers.connection))
    .filter(([name, value]) => !/^x-(runpod-worker-id|slipway-full)$/i.test(name) && !(/^set-cookie$/i.test(name) && setsOwnCookie(value)))
    .flatMap(([name, value]) => {
      const shown = form ? inPathForm(name, value, form) : value;
      return shown === undefined ? [] : [name, shown];
    });
  return [...kept, ...(workerId === '' ? [] : ['X-Runpod-Worker-Id', workerId])];
}

/** How a request came, where it came by path. */
export function pathFormOf({ headers }: Pick<IncomingMessage, 'headers'>, prefix: string): PathForm | undefined {
  if (prefix === '') return undefined;
  return { prefix, host: text(headers['x-forwarded-host']) ?? headers.host, proto: text(headers['x-forwarded-proto']) };
}

function dropped(connection: string | undefined): Set<string> {
  const named = (connection ?? '').split(',').map((name) => name.trim().toLowerCase()).filter((name) => name !== '' && !STAYS.has(name));
  return new Set([...HOP_BY_HOP, ...named]);
}

function pairs(raw: readonly string[], without: ReadonlySet<string>): [string, string][] {
  const kept: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) if (!without.has(raw[i]!.toLowerCase())) kept.push([raw[i]!, raw[i + 1]!]);
  return kept;
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
