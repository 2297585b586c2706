/** One EdgeService.WatchRotation stream to any core replica: demands go up, pictures of endpoints come down. It connects again by itself. */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '../../core/runtime/logger.ts';
import { BaseService } from '../../core/runtime/service.ts';
import { EdgeServiceClient } from '../../proto/gen/slipway/v1/edge_service.ts';
import type { DemandRefusal, EndpointDemand, EndpointRotation, WatchRotationRequest, WatchRotationResponse } from '../../proto/gen/slipway/v1/edge_service.ts';
import { BatchingStream } from '../../proto/wire/batching-stream.ts';
import { callMetadata } from '../../proto/wire/channel.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { stayConnected } from './stay-connected.ts';

/** Who is told. */
export interface RotationListener {
  rotation(rotation: EndpointRotation): void;
  refused(refusal: DemandRefusal): void;
  /** A new stream: all demands are to be told again. */
  up(): void;
}

/** What it needs. */
export interface RotationLinkOptions extends ReplicaParts {
  /** The edges' key, with which demands need no key of an account. Empty: there is none. */
  edgeKey: string;
  logger: Logger;
}

/** Demands of one message (edge_service.proto). */
const DEMANDS_MAX = 1_000;

export class RotationLink extends BaseService {
  readonly name = 'rotation link';
  readonly #options: RotationLinkOptions;
  /** The latest of each endpoint that has not left. */
  readonly #demands = new Map<string, EndpointDemand>();
  #listener: RotationListener | undefined;
  #clients: EdgeServiceClient[] = [];
  #stream: ClientDuplexStream<WatchRotationRequest, WatchRotationResponse> | undefined;
  #sending: BatchingStream<WatchRotationRequest> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: RotationLinkOptions) {
    super();
    this.#options = options;
  }

  /** It speaks for the edges: demands need no key. */
  get isEdges(): boolean {
    return this.#options.edgeKey !== '';
  }

  /** A stream stands. */
  get isUp(): boolean {
    return this.#sending !== undefined;
  }

  /** Before the start. */
  listen(listener: RotationListener): void {
    this.#listener = listener;
  }

  /** Takes the place of what was told of the endpoint before. While there is no stream it is dropped: `up` asks for all again. */
  tell(demand: EndpointDemand): void {
    if (!this.#sending) return;
    this.#demands.set(demand.endpointId, demand);
    this.#sending.wake();
  }

  protected override onStart(): void {
    const { addresses, tls, transport } = this.#options;
    this.#clients = addresses.map((address) => transport.openClient(EdgeServiceClient, address, { tls }));
    this.#running = stayConnected(this.#clients, (client) => this.#serve(client), { ...this.#options, signal: this.ending });
  }

  protected override async onStop(): Promise<void> {
    this.#stream?.cancel();
    await this.#running;
    for (const client of this.#clients) client.close();
  }

  /** Uses one stream until it ends. */
  #serve(client: EdgeServiceClient): Promise<void> {
    return new Promise((resolve) => {
      const stream = client.watchRotation(callMetadata(this.#options.edgeKey));
      const sending = new BatchingStream({ sink: stream, clock: this.#options.clock, take: () => this.#take() });
      const end = (): void => {
        sending.stop();
        resolve();
        // A late end of one that has a successor must not silence that.
        if (this.#stream !== stream) return;
        this.#sending = undefined;
        this.#stream = undefined;
        this.#demands.clear();
      };
      stream.on('data', ({ rotations, refusals }: WatchRotationResponse) => {
        for (const rotation of rotations) this.#listener?.rotation(rotation);
        for (const refusal of refusals) this.#listener?.refused(refusal);
      });
      stream.on('error', (error) => {
        if (!this.ending.aborted) this.#options.logger.warn({ cause: error.message }, 'rotation stream lost, will connect again');
        end();
      });
      stream.on('end', () => { stream.end(); end(); });
      this.#stream = stream;
      this.#sending = sending;
      this.#listener?.up();
    });
  }

  #take(): WatchRotationRequest | undefined {
    const demands = [...this.#demands.values()].slice(0, DEMANDS_MAX);
    for (const { endpointId } of demands) this.#demands.delete(endpointId);
    return demands.length === 0 ? undefined : { demands };
  }
}
