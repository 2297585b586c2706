/** Accepts requests in absolute form, `GET http://host/path`, as a server must (RFC 9112, 3.2.2). */
import type { IncomingMessage } from 'node:http';

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/is;
const SLASH = 47;

/**
 * Rewrites the URL of such a request to origin form, before anything else reads it. A request that names two hosts
 * stays as it is, and is rejected (http-rules.ts).
 */
export function toOriginForm(request: IncomingMessage): void {
  const url = request.url ?? '/';
  if (url.charCodeAt(0) === SLASH) return;
  const [, host, rest] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || rest === undefined || host.toLowerCase() !== request.headers.host?.toLowerCase()) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
