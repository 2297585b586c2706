/**
 * Single calls to core, for everything that is rare or large. Safe ones are tried again, on another replica where there is one, until
 * the retry budget is spent; the others wait for a connection but are sent only once.
 */
import type { CallOptions as GrpcOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { backoffMs } from '../../core/runtime/backoff.ts';
import { delay } from '../../core/runtime/clock.ts';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import { callMetadata } from '../../proto/wire/channel.ts';
import { fromGrpcError } from '../../proto/wire/reason.ts';
import type { CoreError } from '../../proto/wire/reason.ts';
import { RETRY_BUDGET_MS } from './pipeline-client.ts';

/** A generated unary method in its longest form. */
export type UnaryMethod<Request, Response> = (
  request: Request, metadata: Metadata, options: Partial<GrpcOptions>, callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** How to call. */
export interface CallOptions {
  /** Empty: no key. */
  apiKey: string;
  /** Repeating it does no harm. */
  repeatable: boolean;
  /** Time for one try, in milliseconds. Default 8 s. */
  tryMs?: number;
}

const TRY_MS = 8_000;
const RETRY_PAUSE = { firstMs: 50, maxMs: 1_000 };

/** Calls one service on any of its replicas. */
export class ServiceCalls<Service extends Client> {
  readonly #clients: readonly Service[];
  readonly #clock: Clock;
  readonly #random: Random;
  #turn = 0;

  constructor(clients: readonly Service[], clock: Clock, random: Random) {
    this.#clients = clients;
    this.#clock = clock;
    this.#random = random;
  }

  /** Makes a call and answers its response; throws CoreError. */
  async call<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>, request: Request, options: CallOptions,
  ): Promise<Response> {
    const startedMs = this.#clock.monotonicMs();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(method, request, options);
      } catch (error) {
        const failed: CoreError = fromGrpcError(error);
        const spentMs = this.#clock.monotonicMs() - startedMs;
        if (failed.reason !== 'UNAVAILABLE' || !options.repeatable || spentMs > RETRY_BUDGET_MS) throw failed;
        await delay(this.#clock, backoffMs(tries, RETRY_PAUSE, this.#random));
      }
    }
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  #once<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>, request: Request, options: CallOptions,
  ): Promise<Response> {
    this.#turn = (this.#turn + 1) % this.#clients.length;
    const client = this.#clients[this.#turn]!;
    const metadata = callMetadata(options.apiKey, { waitForReady: !options.repeatable });
    const deadline = this.#clock.nowMs() + (options.tryMs ?? TRY_MS);
    return new Promise((resolve, reject) => {
      method(client).call(client, request, metadata, { deadline }, (error, response) => {
        if (error) reject(error);
        else resolve(response);
      });
    });
  }
}
