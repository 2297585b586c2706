/** Which load-balancing endpoint a request is for, by path or by host, and what of its path the worker sees. Pure. */
import type { IncomingMessage } from 'node:http';
import { isRestV2Word } from '../plugins/rest-v2-words.ts';

/** What a request asks for. */
export interface LbTarget {
  /** Or the pod's. */
  endpointId: string;
  /** Path and query as the worker sees them, without the key. */
  path: string;
  /** What was cut off in front; empty in the host form. */
  prefix: string;
  /** The key of the query, if one is there. */
  queryKey: string | undefined;
  /** Under /openai/, /explain, /logs/, /jobs/, at /metrics, /times, /errors a queue has operations too; all of a load-balancing endpoint is its workers'. */
  isShared: boolean;
  /** What stands in Authorization is for what answers. */
  keepsKey?: boolean;
}

/** Operations of queue-based endpoints: they are the queue surface's to answer, whatever the endpoint is. */
const OF_ENDPOINT = /^(run|runsync|purge-queue|health|requests)$/;
const OF_JOB = /^(status|status-sync|stream|cancel|retry)$/;
const SHARED_FORM = /^\/+(openai\/|(explain|metrics|times|errors)\/*([?#]|$)|(explain|logs)\/+[^/?#]+\/*([?#]|$)|jobs\/+(cancel|retry)\/*([?#]|$))/;
/** As nearly all requests of queue-based endpoints are written: what `lbTarget` says of them without taking them apart. */
const PLAIN_QUEUE_FORM = /^\/v2\/[a-z0-9]{14}\/(run|runsync|health|(status|status-sync|stream)\/[\w-]+)(\?|$)/;
const PATH_FORM = /^\/+v2\/+([^/?#]+)([^?]*)(\?.*)?$/;

/** Undefined: it is for another surface. `domains`: behind an endpoint's id they make the host form. */
export function lbTarget(request: Pick<IncomingMessage, 'url' | 'headers'>, domains: readonly string[]): LbTarget | undefined {
  const url = request.url ?? '/';
  const hostId = endpointOfHost(request.headers.host, domains);
  if (hostId !== undefined && url.startsWith('/')) return target(hostId, url, '');
  if (PLAIN_QUEUE_FORM.test(url)) return undefined;
  const [, id, rest = '', query = ''] = PATH_FORM.exec(url) ?? [];
  if (id === undefined || isRestV2Word(id)) return undefined;
  if (isQueueOperation(rest)) return undefined;
  return target(id, `${rest === '' ? '/' : rest}${query}`, `/v2/${id}`);
}

/** Each part is decoded by itself: a job id with a slash in it is still a job id. */
function isQueueOperation(path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '').map((part) => decoded(part) ?? part);
  return (parts.length === 1 && OF_ENDPOINT.test(parts[0]!)) || (parts.length === 2 && OF_JOB.test(parts[0]!));
}

function target(endpointId: string, url: string, prefix: string): LbTarget {
  const at = url.indexOf('?');
  const isShared = prefix !== '' && SHARED_FORM.test(url);
  if (at < 0) return { endpointId, path: url, prefix, queryKey: undefined, isShared };
  // Taken out as text: whatever else is in the query stays as the client wrote it.
  const parts = url.slice(at + 1).split('&');
  const keys = parts.filter(isKey);
  const others = parts.filter((part) => !isKey(part));
  const path = keys.length === 0 ? url : url.slice(0, at) + (others.length > 0 ? `?${others.join('&')}` : '');
  return { endpointId, path, prefix, queryKey: keys[0] === undefined ? undefined : decoded(keys[0].slice(keys[0].indexOf('=') + 1)), isShared };
}

/** As it is read elsewhere, where names are unescaped first. */
function isKey(part: string): boolean {
  return part.startsWith('api_key=') || (part.includes('%') && decoded(part.split('=', 1)[0]!) === 'api_key' && part.includes('='));
}

function endpointOfHost(host: string | undefined, domains: readonly string[]): string | undefined {
  if (domains.length === 0) return undefined;
  const [, id, domain] = /^([a-z0-9]{14})\.([a-z0-9.-]+?)\.?(?::\d+)?$/i.exec(host ?? '') ?? [];
  return id !== undefined && domains.includes(domain!.toLowerCase()) ? id.toLowerCase() : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
