/**
 * Rewrites responses of workers and pods in the path form, where they share an origin with the API, the console and
 * each other. Like a reverse proxy with a prefix (ProxyPassReverse), it adds the prefix to URLs that the program
 * believes to be its own, and limits cookies to the program's paths. Headers that affect the whole origin are dropped.
 * Envoy does the same on its own way to workers (edge/envoy-config/worker-answers.ts). Pure.
 */

/**
 * Headers that affect a whole origin, whatever path the response came from: stored data, transport, reports about other
 * URLs, scripts for other paths.
 */
export const ORIGIN_HEADERS: readonly string[] = [
  'accept-ch',
  'activate-storage-access',
  'alt-svc',
  'attribution-reporting-register-source',
  'attribution-reporting-register-trigger',
  'clear-site-data',
  'critical-ch',
  'expect-ct',
  'nel',
  'observe-browsing-topics',
  'origin-agent-cluster',
  'public-key-pins',
  'public-key-pins-report-only',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-login',
  'strict-transport-security',
  'use-as-dictionary',
];
const OF_ORIGIN = new Set(ORIGIN_HEADERS);
const ADDRESS = /^(?:location|content-location)$/;
const WITH_HOST = /^(?:(https?):)?\/\/([^/?#]*)([^]*)$/i;
const COOKIE_PATH = /^\s*path\s*=\s*(.*?)\s*$/i;
const COOKIE_DOMAIN = /^\s*domain\s*(?:=|$)/i;

/** Parts of a request's URL. */
export interface PathForm {
  /** Prefix that was removed from its path: `/v2/{endpoint_id}`. */
  prefix: string;
  /** Value of the Host header. */
  host: string | undefined;
  /** `https` or `http`; `undefined` if unknown. */
  proto: string | undefined;
}

/** Returns a response header's value for the client; `undefined` if the header is dropped. */
export function inPathForm(name: string, value: string, form: PathForm): string | undefined {
  const lower = name.toLowerCase();
  if (OF_ORIGIN.has(lower)) return undefined;
  if (ADDRESS.test(lower)) return addressIn(value, form);
  return lower === 'set-cookie' ? cookieIn(value, form.prefix) : value;
}

/** Returns a URL of the program with the prefix. Other URLs, and those relative to the request's, do not change. */
function addressIn(value: string, { prefix, host, proto }: PathForm): string {
  const [, scheme, authority, rest] = WITH_HOST.exec(value) ?? [];
  if (authority === undefined) return value.startsWith('/') ? prefixed(value, prefix) : value;
  if (host === undefined || authority.toLowerCase() !== host.toLowerCase()) return value;
  const path = prefixed(rest!.startsWith('/') ? rest! : `/${rest}`, prefix);
  return scheme === undefined ? `//${authority}${path}` : `${proto ?? scheme.toLowerCase()}://${authority}${path}`;
}

/** Adds the prefix. Programs that know X-Forwarded-Prefix have added it themselves. */
function prefixed(path: string, prefix: string): string {
  return path === prefix || (path.startsWith(prefix) && '/?#'.includes(path.charAt(prefix.length)))
    ? path
    : prefix + path;
}

/** Limits a cookie to the program's paths and to this host. */
function cookieIn(value: string, prefix: string): string {
  return value
    .split(';')
    .filter((part, index) => index === 0 || !COOKIE_DOMAIN.test(part))
    .map((part, index) => {
      const path = index === 0 ? undefined : COOKIE_PATH.exec(part)?.[1];
      return path?.startsWith('/') ? ` Path=${prefixed(path, prefix)}` : part;
    })
    .join(';');
}
