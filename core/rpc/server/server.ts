/** The gRPC server of core: limits, services, start and graceful stop. */
import type { Server, ServerInterceptor } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { ServedService, Transport } from '@slipway/kit/net/channel';
import { openServer } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import { logGrpc } from './grpc-log.ts';
import { readable, refuseUnreadable } from './unreadable.ts';

/** How long calls may go on after the server stopped taking new ones, in milliseconds. */
const DRAIN_MS_MAX = 3_000;

/** Services and settings of the server. */
export interface RpcServerOptions {
  /** host:port; port 0 = any free one. */
  listen: string;
  services: readonly ServedService[];
  /** Adds services that bring their own way, such as health and reflection. */
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

  /** host:port it listens on; empty before `start`. */
  get address(): string {
    return this.#address;
  }

  protected override async onStart(): Promise<void> {
    const { listen: address, services, interceptors, extend, transport } = this.#options;
    logGrpc(this.#options.logger);
    const server = openServer(
      services.map(([definition, handlers]) => [readable(definition), handlers] as const),
      [...interceptors, refuseUnreadable],
    );
    this.#server = server;
    for (const add of extend) add(server);
    const port = await transport.listen(server, address);
    this.#address = `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
  }

  /** No new calls; those that run may finish for a while, then they are cut. */
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
