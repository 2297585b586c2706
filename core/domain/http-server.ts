/** Where a worker of a load-balancing endpoint serves HTTP, and where it tells its health (docs/api.md#load-balancing). */

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

/** What the variables PORT, PORT_HEALTH and HEALTH_CHECK_PATH say; else the template's first grpc port, which says HTTP/2, or http port, else 80 and /ping. */
export function httpServerOf({ env, ports }: { env: Readonly<Record<string, string>>; ports: readonly string[] }): HttpServerSettings {
  const exposed = ports.find((port) => port.endsWith('/grpc')) ?? ports.find((port) => port.endsWith('/http'));
  const port = portOf(env['PORT']) ?? portOf(exposed?.split('/')[0]) ?? PORT_DEFAULT;
  const h2c = ports.some((named) => named.endsWith('/grpc'));
  return { port, healthPort: portOf(env['PORT_HEALTH']) ?? port, healthPath: pathOf(env['HEALTH_CHECK_PATH']), h2c };
}

function portOf(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function pathOf(text: string | undefined): string {
  if (text === undefined || text === '') return PATH_DEFAULT;
  const path = text.startsWith('/') ? text : `/${text}`;
  // What no request line can hold would be asked for ever without an answer.
  return /^[\x21-\x7e]+$/.test(path) && path.length <= PATH_LENGTH_MAX ? path : PATH_DEFAULT;
}
