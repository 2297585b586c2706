/**
 * Where a worker of a load-balancing endpoint serves HTTP, and where it tells its health
 * (docs/reference/api.md#load-balancing).
 */
import { invalid } from '../settings/fields.ts';

/** Settings of a worker's HTTP server. */
export interface HttpServerSettings {
  port: number;
  healthPort: number;
  healthPath: string;
  /** It speaks HTTP/2 without TLS. */
  h2c: boolean;
}

const PORT_DEFAULT = 80;
const PATH_DEFAULT = '/ping';
const PATH_LENGTH_MAX = 1_024;

/**
 * What the variables PORT, PORT_HEALTH and HEALTH_CHECK_PATH say; else the template's first grpc port, which says
 * HTTP/2, or http port, else 80 and /ping.
 */
export function httpServerOf({
  env,
  ports,
}: {
  env: Readonly<Record<string, string>>;
  ports: readonly string[];
}): HttpServerSettings {
  const exposed = ports.find((port) => port.endsWith('/grpc')) ?? ports.find((port) => port.endsWith('/http'));
  const port = portOf(env['PORT']) ?? portOf(exposed?.split('/')[0]) ?? PORT_DEFAULT;
  const h2c = ports.some((named) => named.endsWith('/grpc'));
  return { port, healthPort: portOf(env['PORT_HEALTH']) ?? port, healthPath: pathOf(env['HEALTH_CHECK_PATH']), h2c };
}

/**
 * Fails with INVALID_REQUEST where these variables say something that no server could mean: it would listen elsewhere
 * than it is asked. Empty: not set.
 */
export function checkHttpServer(env: Readonly<Record<string, string>>): void {
  for (const name of ['PORT', 'PORT_HEALTH'] as const) {
    if (env[name] && portOf(env[name]) === undefined) {
      throw invalid(
        `env: ${name} must be a port, from 1 to 65535: workers of a load-balancing endpoint are asked there; the template's env counts too`,
      );
    }
  }
  if (env['HEALTH_CHECK_PATH'] && !isPath(withSlash(env['HEALTH_CHECK_PATH']))) {
    throw invalid(
      `env: HEALTH_CHECK_PATH must be a path as it stands in a request, of at most ${PATH_LENGTH_MAX} characters without blanks, like /ping; ` +
        "the template's env counts too",
    );
  }
}

function portOf(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function pathOf(text: string | undefined): string {
  const path = withSlash(text ?? '');
  // What was stored before it was checked.
  return text && isPath(path) ? path : PATH_DEFAULT;
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** What no request line can hold would be asked for ever without an answer. */
function isPath(path: string): boolean {
  return /^[\x21-\x7e]+$/.test(path) && path.length <= PATH_LENGTH_MAX;
}
