/**
 * Finds where a worker of a load-balancing endpoint serves HTTP, and where it reports its health
 * (docs/reference/api.md#load-balancing).
 */
import { invalid } from '../settings/fields.ts';

/** Settings of a worker's HTTP server. */
interface HttpServerSettings {
  port: number;
  healthPort: number;
  healthPath: string;
  /** True if the server speaks HTTP/2 without TLS. */
  h2c: boolean;
}

const PORT_DEFAULT = 80;
const PATH_DEFAULT = '/ping';
const PATH_LENGTH_MAX = 1_024;

/**
 * Returns the settings from the variables PORT, PORT_HEALTH and HEALTH_CHECK_PATH. Without them the port is the
 * template's first grpc port, which implies HTTP/2, else its http port, else 80; the health path is /ping.
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
 * Throws INVALID_REQUEST if one of these variables has a value that no server can use: the worker would listen at
 * another place than it is called at. Empty: not set.
 */
export function checkHttpServer(env: Readonly<Record<string, string>>): void {
  for (const name of ['PORT', 'PORT_HEALTH'] as const) {
    if (env[name] && portOf(env[name]) === undefined) {
      throw invalid(
        `env: ${name} must be a port, from 1 to 65535: workers of a load-balancing endpoint are asked there; the ` +
          "template's env counts too",
      );
    }
  }
  if (env['HEALTH_CHECK_PATH'] && !isPath(withSlash(env['HEALTH_CHECK_PATH']))) {
    throw invalid(
      `env: HEALTH_CHECK_PATH must be a path as it stands in a request, of at most ${PATH_LENGTH_MAX} characters ` +
        "without blanks, like /ping; the template's env counts too",
    );
  }
}

function portOf(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function pathOf(text: string | undefined): string {
  const path = withSlash(text ?? '');
  // Values that were stored before this check existed may be invalid.
  return text && isPath(path) ? path : PATH_DEFAULT;
}

function withSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** Returns true if a request line can hold the path. A health check of any other path would fail forever. */
function isPath(path: string): boolean {
  return /^[\x21-\x7e]+$/.test(path) && path.length <= PATH_LENGTH_MAX;
}
