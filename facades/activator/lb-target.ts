/** Finds the load-balancing endpoint of a request, by path or by host, and the path that the worker sees. Pure. */
import type { IncomingMessage } from 'node:http';
import { isErrorsPage } from '@slipway/kit/net/help-link';
import { isRestV2Word } from '../plugins/errors/rest-v2-words.ts';
import { decoded, withoutQueryKey } from '../plugins/query-key.ts';

/** The target of a request. */
export interface LbTarget {
  /** Id of the endpoint, or of the pod. */
  endpointId: string;
  /** Path and query as the worker sees them, without the key. */
  path: string;
  /** Prefix that was cut off the path. Empty in the host form. */
  prefix: string;
  /** Key in the query (`api_key`). `undefined` if there is none. */
  queryKey: string | undefined;
  /**
   * The path is also an operation of queue-based endpoints: under /openai/, /explain, /logs/, /jobs/, at /metrics,
   * /times, /errors, /batch.
   */
  isShared: boolean;
  /** Whether the Authorization header is forwarded. */
  keepsKey?: boolean;
}

/** Operations of queue-based endpoints. The queue surface answers them for every type of endpoint. */
const OF_ENDPOINT = /^(run|runsync|purge-queue|health|requests)$/;
const OF_JOB = /^(status|status-sync|stream|cancel|retry)$/;
const SHARED_FORMS = [
  'openai/',
  'batch(/+[^/?#]+){0,3}/*([?#]|$)',
  '(explain|metrics|times|errors)/*([?#]|$)',
  '(explain|logs)/+[^/?#]+/*([?#]|$)',
  'jobs/+(cancel|retry)/*([?#]|$)',
];
const SHARED_FORM = new RegExp(`^/+(${SHARED_FORMS.join('|')})`);
/** Form of nearly all requests to queue-based endpoints: a fast path that avoids parsing. */
const PLAIN_QUEUE_FORM = /^\/v2\/[a-z0-9]{14}\/(run|runsync|health|(status|status-sync|stream)\/[\w-]+)(\?|$)/;
const PATH_FORM = /^\/+v2\/+([^/?#]+)([^?]*)(\?.*)?$/;

/**
 * Returns the target of a request. `undefined` if it is for another surface. `domains`: domains of the host form,
 * `<endpoint id>.<domain>`.
 */
export function lbTarget(
  request: Pick<IncomingMessage, 'url' | 'headers'>,
  domains: readonly string[],
): LbTarget | undefined {
  const url = request.url ?? '/';
  const hostId = endpointOfHost(request.headers.host, domains);
  if (hostId !== undefined && url.startsWith('/') && !isErrorsPage(url)) return target(hostId, url, '');
  if (PLAIN_QUEUE_FORM.test(url)) return undefined;
  const [, id, rest = '', query = ''] = PATH_FORM.exec(url) ?? [];
  if (id === undefined || isRestV2Word(decoded(id) ?? id)) return undefined;
  if (isQueueOperation(rest)) return undefined;
  return target(id, `${rest === '' ? '/' : rest}${query}`, `/v2/${id}`);
}

/** Decodes each part by itself: a job id may contain an escaped slash. */
function isQueueOperation(path: string): boolean {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decoded(part) ?? part);
  return (parts.length === 1 && OF_ENDPOINT.test(parts[0]!)) || (parts.length === 2 && OF_JOB.test(parts[0]!));
}

function target(endpointId: string, url: string, prefix: string): LbTarget {
  const isShared = prefix !== '' && SHARED_FORM.test(url);
  return { endpointId, prefix, isShared, ...withoutQueryKey(url) };
}

function endpointOfHost(host: string | undefined, domains: readonly string[]): string | undefined {
  if (domains.length === 0) return undefined;
  const [, id, domain] = /^([a-z0-9]{14})\.([a-z0-9.-]+?)\.?(?::\d+)?$/i.exec(host ?? '') ?? [];
  return id !== undefined && domains.includes(domain!.toLowerCase()) ? id.toLowerCase() : undefined;
}
