/** Runs the HTTP server of a facade: starts the clients of core, then listens; stops in the reverse order. */
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { listenFault } from '@slipway/kit/net/listen-fault';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { FacadeConfig } from './config.ts';
import type { CoreClient } from './core-client/core-client.ts';
import type { Readiness } from './core-client/readiness.ts';

/** Time for running requests to end when the process stops, in milliseconds. */
const STOP_GRACE_MS = 5_000;

/** Dependencies of the server. */
interface HttpProcessParts {
  core: CoreClient;
  /** Services that run beside the server, in the order in which they start. */
  services: readonly Service[];
  readiness: Readiness;
  app: FastifyInstance;
  config: Pick<FacadeConfig, 'httpHost' | 'httpPort'>;
  clock: Clock;
  logger: Logger;
}

export class HttpProcess extends SingleRunService {
  readonly name = 'facade';
  readonly #parts: HttpProcessParts;
  /** Address that it listens on. Empty before start. */
  url = '';

  constructor(parts: HttpProcessParts) {
    super();
    this.#parts = parts;
  }

  protected override async onStart(): Promise<void> {
    const { services, app, config, logger } = this.#parts;
    await startAll(services, logger, this.ending);
    const { httpHost: host, httpPort: port } = config;
    this.url = await app.listen({ host, port }).catch((error: Error) => {
      throw listenFault(error, `${host}:${port}`);
    });
    logger.info({ url: this.url }, 'facade listens');
  }

  protected override async onStop(): Promise<void> {
    const { core, services, readiness, app, clock, logger } = this.#parts;
    // A request that meets a closing connection fails, and no balancer may send it again: it might have begun.
    await readiness.leave();
    core.abandonAll();
    const cut = clock.after(STOP_GRACE_MS, () => app.server.closeAllConnections());
    await app.close();
    cut.cancel();
    readiness.close();
    await stopAll(services, logger);
  }
}
