/** Requests as a client sends them to a proxy, `GET http://host/path`, which a server must take (RFC 9112, 3.2.2). */
import type { IncomingMessage } from 'node:http';

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/is;
const SLASH = 47;

/**
 * Makes the address of such a request what that of others is, before anything else looks at it. One that names two
 * hosts is left as it is, and refused (http-rules.ts).
 */
export function toOriginForm(request: IncomingMessage): void {
  const url = request.url ?? '/';
  if (url.charCodeAt(0) === SLASH) return;
  const [, host, rest] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || rest === undefined || host.toLowerCase() !== request.headers.host?.toLowerCase()) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
