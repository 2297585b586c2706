/** The gRPC server of core: limits, services, start and graceful stop. */
import type { Server, ServerInterceptor } from '@grpc/grpc-js';
import { listen, openServer } from '../../proto/wire/channel.ts';
import type { ServedService } from '../../proto/wire/channel.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Service } from '../runtime/service.ts';

/** How long calls may go on after the server stopped taking new ones, in milliseconds. */
const DRAIN_MS_MAX = 3_000;

/** What it serves. */
export interface RpcServerOptions {
  /** host:port; port 0 = any free one. */
  listen: string;
  services: readonly ServedService[];
  /** Adds services that bring their own way, such as health and reflection. */
  extend: readonly ((server: Server) => void)[];
  interceptors: ServerInterceptor[];
  clock: Clock;
}

export class RpcServer implements Service {
  readonly name = 'rpc server';
  readonly #options: RpcServerOptions;
  readonly #server: Server;
  #address = '';
  #stopping: Promise<void> | undefined;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    this.#server = openServer(options.services, options.interceptors);
    for (const extend of options.extend) extend(this.#server);
  }

  /** host:port it listens on; empty before `start`. */
  get address(): string {
    return this.#address;
  }

  async start(): Promise<void> {
    const { listen: address } = this.#options;
    const port = await listen(this.#server, address);
    this.#address = `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
  }

  /** No new calls; those that run may finish for a while, then they are cut. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  #stop(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(DRAIN_MS_MAX, () => {
        this.#server.forceShutdown();
        resolve();
      });
      this.#server.tryShutdown(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
