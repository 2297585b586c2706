/** The gRPC server of core: limits, services, start and graceful stop. */
import type { Server, ServerInterceptor } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { ServedService, Transport } from '@slipway/kit/net/channel';
import { openServer } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import { logGrpc } from './grpc-log.ts';
import { readable, rejectUnreadable } from './unreadable.ts';

/** Time for which calls may continue after the server stopped accepting new ones, in milliseconds. */
const DRAIN_MS_MAX = 3_000;

/** Services and settings of the server. */
interface RpcServerOptions {
  /** Address to listen on, host:port. Port 0: any free one. */
  listen: string;
  services: readonly ServedService[];
  /** Functions that add services which register themselves, such as health and reflection. */
  extend: readonly ((server: Server) => void)[];
  interceptors: ServerInterceptor[];
  transport: Transport;
  clock: Clock;
  logger: Logger;
}

export class RpcServer extends BaseService {
  readonly name = 'rpc server';
  readonly #options: RpcServerOptions;
  #server: Server | undefined;
  #address = '';

  constructor(options: RpcServerOptions) {
    super();
    this.#options = options;
  }

  /** Address that it listens on, host:port. Empty before `start`. */
  get address(): string {
    return this.#address;
  }

  protected override async onStart(): Promise<void> {
    const { listen: address, services, interceptors, extend, transport } = this.#options;
    logGrpc(this.#options.logger);
    const server = openServer(
      services.map(([definition, handlers]) => [readable(definition), handlers] as const),
      [...interceptors, rejectUnreadable],
    );
    this.#server = server;
    for (const add of extend) add(server);
    const port = await transport.listen(server, address);
    this.#address = `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
  }

  /** Accepts no new calls. Running calls may finish for a while, then they are cut off. */
  protected override onStop(): Promise<void> {
    const server = this.#server;
    return new Promise((resolve) => {
      if (!server) return resolve();
      const timer = this.#options.clock.after(DRAIN_MS_MAX, () => {
        server.forceShutdown();
        resolve();
      });
      server.tryShutdown(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
