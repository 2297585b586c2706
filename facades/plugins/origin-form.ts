/** Accepts requests in absolute form, `GET http://host/path`, as a server must (RFC 9112, 3.2.2). */
import type { IncomingMessage } from 'node:http';

const ABSOLUTE = /^(https?):\/\/([^/?#]+)(.*)$/is;
/** Ports that an address need not name. */
const DEFAULT_PORT = { http: /:80$/, https: /:443$/ };
const SLASH = 47;

/**
 * Rewrites the URL of such a request to origin form, before anything else reads it. A request that names two hosts
 * stays as it is, and is rejected (http-rules.ts).
 */
export function toOriginForm(request: IncomingMessage): void {
  const url = request.url ?? '/';
  if (url.charCodeAt(0) === SLASH) return;
  const [, scheme = '', host, rest] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || rest === undefined) return;
  const port = DEFAULT_PORT[scheme.toLowerCase() as keyof typeof DEFAULT_PORT];
  const named = (text: string): string => text.toLowerCase().replace(port, '');
  if (named(host) !== named(request.headers.host ?? '')) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
