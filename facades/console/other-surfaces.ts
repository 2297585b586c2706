/**
 * Reuses the REST and queue surfaces for the console: /console/api/v1/*, the secrets of REST v2 and the job operations
 * under /console/api/v2/* become requests to those surfaces with the session's key. Only operations that those surfaces
 * answer themselves are passed on. The response of a load-balancing worker must never be sent as it is from under the
 * console's path, only wrapped in a body (tried-requests.ts).
 */
import type { IncomingMessage } from 'node:http';
import { isOwnPage } from './own-page.ts';
import type { Sessions } from './session.ts';
import type { TriedRequests } from './tried-requests.ts';

const PREFIX = '/console/api';
const REST =
  /^\/v1\/(endpoints|templates|pods|networkvolumes|containerregistryauth|billing)(\/[A-Za-z0-9_/-]*)?(\?[^#]*)?$/;
const REST_V2 = /^\/v2\/account\/secrets(\/[A-Za-z0-9]+)?$/;
const QUEUE =
  /^\/v2\/[A-Za-z0-9_-]+\/(run|health|purge-queue|(status|stream|cancel|retry)\/[A-Za-z0-9_-]+|(requests|jobs\/(cancel|retry))(\?[^#]*)?)$/;

/**
 * Returns the path that answers a request, and adds the session's key to it if necessary. Runs before any other code
 * reads the request.
 */
export function surfacePath(request: IncomingMessage, sessions: Sessions, tried: TriedRequests): string {
  const url = request.url ?? '/';
  if (!url.startsWith(PREFIX)) return url;
  const rest = url.slice(PREFIX.length);
  const triedAt = tried.endpointOf(rest);
  if (triedAt === undefined && !REST.test(rest) && !REST_V2.test(rest) && !QUEUE.test(rest)) return url;
  if (!isOwnPage(request)) return '/console/refused/page';
  const session = sessions.of(request);
  if (!session) return '/console/refused/session';
  if (triedAt !== undefined) return tried.take(request, triedAt, session.apiKey) ?? '/console/refused/request';
  request.headers.authorization = `Bearer ${session.apiKey}`;
  delete request.headers.cookie;
  return rest;
}
