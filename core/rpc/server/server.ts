/** The gRPC server of core: limits, services, start and graceful stop. */
import type { Server, ServerInterceptor } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { ServedService, Transport } from '@slipway/kit/net/channel';
import { openServer } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import type { ServerTls } from '@slipway/kit/tls/server-tls';
import type { ListenAddress } from '../../config.ts';
import { logGrpc } from './grpc-log.ts';
import { readable, rejectUnreadable } from './unreadable.ts';

/** Time for which calls may continue after the server stopped accepting new ones, in milliseconds. */
const DRAIN_MS_MAX = 3_000;

/** Services and settings of the server. */
interface RpcServerOptions {
  /** Addresses to listen on. */
  listen: readonly ListenAddress[];
  /** Returns the server side of TLS. It is needed where an address is secure. */
  tls(): ServerTls | undefined;
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
  readonly #addresses: ListenAddress[] = [];

  constructor(options: RpcServerOptions) {
    super();
    this.#options = options;
  }

  /** First address that it listens on, host:port, or grpcs://host:port. Empty before `start`. */
  get address(): string {
    const [first] = this.#addresses;
    return first ? textOf(first) : '';
  }

  /** First address by TLS, grpcs://host:port. Empty: there is none. */
  get secureAddress(): string {
    const secure = this.#addresses.find((each) => each.secure);
    return secure ? textOf(secure) : '';
  }

  /** Ports by TLS with their hosts, host:port. */
  get secureAddresses(): string[] {
    return this.#addresses.flatMap(({ address, secure }) => (secure ? address : []));
  }

  protected override async onStart(): Promise<void> {
    const { listen, tls, services, interceptors, extend, transport } = this.#options;
    logGrpc(this.#options.logger);
    const server = openServer(
      services.map(([definition, handlers]) => [readable(definition), handlers] as const),
      [...interceptors, rejectUnreadable],
    );
    this.#server = server;
    for (const add of extend) add(server);
    for (const { address, secure } of listen) {
      const port = await transport.listen(server, address, secure ? tls() : undefined);
      this.#addresses.push({ address: `${address.slice(0, address.lastIndexOf(':'))}:${port}`, secure });
    }
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

function textOf({ address, secure }: ListenAddress): string {
  return secure ? `grpcs://${address}` : address;
}
