/** Serves GET /metrics on a separate port, so that clients of the public port cannot read metrics. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BaseService } from '../lifecycle/service.ts';
import type { Logger } from '../log/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createServer } from './node-http.ts';

const ADDRESS = /^(?<host>[\w.-]+|\[[0-9a-f:]+\]):(?<port>\d{1,5})$/i;
const PORT_MAX = 65_535;
const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };

/**
 * Returns the fault of a listen address, as text for the operator; `undefined` if it is valid or empty. `name`: of its
 * variable.
 */
export function metricsListenFault(address: string, name = 'SLIPWAY_METRICS_LISTEN'): string | undefined {
  const port = ADDRESS.exec(address)?.groups?.['port'];
  if (address === '' || (port !== undefined && Number(port) <= PORT_MAX)) return undefined;
  return `${name} is ${JSON.stringify(address)}, but must be host:port, for instance 127.0.0.1:9464`;
}

/** Options of the server. */
interface MetricsServerOptions {
  /** host:port; port 0: any free one. Empty: do not listen. */
  listen: string;
  metrics: Metrics;
  logger: Logger;
}

export class MetricsServer extends BaseService {
  readonly name = 'metrics';
  readonly #options: MetricsServerOptions;
  #server: Server | undefined;
  #address = '';

  constructor(options: MetricsServerOptions) {
    super();
    this.#options = options;
  }

  /** host:port that it listens on; empty if it does not. */
  get address(): string {
    return this.#address;
  }

  protected override async onStart(): Promise<void> {
    const { listen, metrics, logger } = this.#options;
    const { host, port } = ADDRESS.exec(listen)?.groups ?? {};
    if (host === undefined) return;
    metrics.measureNode();
    const server = createServer((request, reply) => {
      void this.#answer(request, reply);
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(Number(port), host.replace(/^\[|\]$/g, ''), resolve);
    });
    this.#address = `${host}:${(server.address() as AddressInfo).port}`;
    logger.info({ address: this.#address }, 'metrics server is listening');
  }

  protected override async onStop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server?.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  async #answer({ method, url = '' }: IncomingMessage, reply: ServerResponse): Promise<void> {
    if (url.split('?', 1)[0] !== '/metrics')
      return void reply.writeHead(404, PLAIN).end('Not found. Only /metrics is served here.\n');
    if (method !== 'GET')
      return void reply.writeHead(405, { ...PLAIN, allow: 'GET' }).end('Method not allowed. Use GET.\n');
    try {
      const { type, text } = await this.#options.metrics.read();
      reply.writeHead(200, { 'content-type': type }).end(text);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'collecting metrics failed');
      reply.writeHead(503, PLAIN).end('Collecting metrics failed. The log of the process has the cause.\n');
    }
  }
}
