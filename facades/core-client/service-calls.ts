/**
 * Single calls to one service of core, on any of its replicas, for everything that is rare or large. Safe ones are
 * tried again, on another replica where there is one, until the retry budget is spent or all replicas say that their
 * database is away; the others are sent only once.
 */
import type { Client, ClientUnaryCall, CallOptions as GrpcOptions, Metadata, ServiceError } from '@grpc/grpc-js';
import { retry } from '@slipway/kit/lifecycle/retry';
import type { ClientConstructor } from '@slipway/kit/net/channel';
import { callMetadata } from '@slipway/kit/net/channel';
import { CALLER_ADDRESS_KEY, callerAddress } from '@slipway/kit/observe/caller-address';
import type { PerReplica } from '@slipway/kit/replicas/per-replica';
import { fromGrpcError, saysDatabaseAway } from '@slipway/proto/wire/reason';
import type { CoreConnection } from './core-connection.ts';
import { isAnswer } from './core-connection.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { connections, RETRY_BUDGET_MS } from './replica-parts.ts';

/** A generated unary method in its longest form. */
export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<GrpcOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** Options of a call. */
export interface CallOptions {
  /** Empty if there is no key. */
  apiKey: string;
  /** Idempotent: may be sent again. */
  repeatable: boolean;
  /** Time for one try, in milliseconds. Default 8 s. */
  tryMs?: number;
  /**
   * A call that is not repeatable fails at once when there is no connection, instead of waiting for one. Default false.
   */
  failFast?: boolean;
  /** Cancels the call, which then fails with UNAVAILABLE. */
  signal?: AbortSignal;
}

const TRY_MS = 8_000;
const RETRY_PAUSE = { firstMs: 50, maxMs: 1_000 };

/** Its channels are opened by the first call. */
export class ServiceCalls<Service extends Client> {
  readonly #parts: ReplicaParts;
  readonly #lines: PerReplica<CoreConnection<Service>>;
  #nextIndex = 0;

  constructor(clientOf: ClientConstructor<Service>, parts: ReplicaParts) {
    this.#parts = parts;
    this.#lines = connections(clientOf, parts);
  }

  /** Makes a call and returns its response. Throws CoreError with the gRPC error as its cause. */
  async call<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    const { clock, random } = this.#parts;
    const { repeatable, signal } = options;
    let awayReplies = 0;
    const mayHelp = (error: unknown): boolean => {
      if (saysDatabaseAway(error)) awayReplies += 1;
      return repeatable && awayReplies < this.#parts.addresses.length && fromGrpcError(error).reason === 'UNAVAILABLE';
    };
    const plan = { clock, random, pause: RETRY_PAUSE, forMs: RETRY_BUDGET_MS, mayHelp, ...(signal ? { signal } : {}) };
    return retry(() => this.#once(method, request, options), plan).catch((error: unknown) => {
      throw fromGrpcError(error);
    });
  }

  /** Closes the channels; calls in flight end. A later call opens new ones. */
  close(): void {
    this.#lines.close();
  }

  #once<Request, Response>(
    method: (client: Service) => UnaryMethod<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    const { apiKey, repeatable, failFast = false, tryMs = TRY_MS, signal } = options;
    const line = this.#next();
    const metadata = callMetadata(apiKey, { waitForReady: !repeatable && !failFast });
    const address = callerAddress();
    if (address !== '') metadata.set(CALLER_ADDRESS_KEY, address);
    const deadline = this.#parts.clock.nowMs() + tryMs;
    return new Promise((resolve, reject) => {
      const { client } = line;
      const call = method(client).call(client, request, metadata, { deadline }, (error, response) => {
        leave();
        signal?.removeEventListener('abort', giveUp);
        if (isAnswer(error)) line.markSeen();
        if (error) reject(error);
        else resolve(response);
      });
      const giveUp = (): void => call.cancel();
      // A cancelled call fails with UNAVAILABLE, and a repeatable one is retried.
      const leave = line.use({ isWaiting: () => true, onDead: giveUp });
      if (signal?.aborted) giveUp();
      else signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Returns the connection to the next replica, round robin. */
  #next(): CoreConnection<Service> {
    const lines = this.#lines.all();
    this.#nextIndex = (this.#nextIndex + 1) % lines.length;
    return lines[this.#nextIndex]!;
  }
}
