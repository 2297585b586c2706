/** One EdgeService.WatchRotation stream to any core replica: demands go up, pictures of endpoints come down. It connects again by itself. */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '../../core/runtime/logger.ts';
import { BaseService } from '../../core/runtime/service.ts';
import { EdgeServiceClient } from '../../proto/gen/slipway/v1/edge_service.ts';
import type { DemandRefusal, EndpointDemand, EndpointRotation, WatchRotationRequest, WatchRotationResponse } from '../../proto/gen/slipway/v1/edge_service.ts';
import { BatchingStream } from '../../proto/wire/batching-stream.ts';
import { callMetadata } from '../../proto/wire/channel.ts';
import { LINK_TIMERS } from '../../proto/wire/link-timers.ts';
import { delay } from '../../core/runtime/clock.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { CoreConnection } from './core-connection.ts';
import { stayConnected } from './stay-connected.ts';

/** Who is told. */
export interface EndpointSetListener {
  onEndpointSet(rotation: EndpointRotation): void;
  onRejected(refusal: DemandRefusal): void;
  /** A new stream: all demands are to be told again. */
  onConnected(): void;
}

/** What it needs. */
export interface EndpointSetLinkOptions extends ReplicaParts {
  /** The edges' key, with which demands need no key of an account. Empty: there is none. */
  edgeKey: string;
  logger: Logger;
}

/** Demands of one message, and characters of the name of who tells them (edge_service.proto). */
const DEMANDS_MAX = 1_000;
/** How long after it was told something core is expected to be there, in milliseconds: an endpoint in use is told of more often than every 5 s. */
const EXPECT_ANSWER_MS = 3_000;
const REPORTER_LENGTH = 16;
/** How long core may take to take note of an orderly end, in milliseconds. */
const FAREWELL_MS = 500;

export class EndpointSetLink extends BaseService {
  readonly name = 'rotation link';
  readonly #options: EndpointSetLinkOptions;
  /** The latest of each endpoint that has not left. */
  readonly #demands = new Map<string, EndpointDemand>();
  /** What it says on a new stream takes the place of what it said before. */
  readonly #reporter: string;
  #listener: EndpointSetListener | undefined;
  #lines: CoreConnection<EdgeServiceClient>[] = [];
  #line: CoreConnection<EdgeServiceClient> | undefined;
  #toldAtMs = -Infinity;
  #stream: ClientDuplexStream<WatchRotationRequest, WatchRotationResponse> | undefined;
  #sending: BatchingStream<WatchRotationRequest> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: EndpointSetLinkOptions) {
    super();
    this.#options = options;
    this.#reporter = options.random.id(REPORTER_LENGTH);
  }

  /** It speaks for the edges: demands need no key. */
  get hasEdgeKey(): boolean {
    return this.#options.edgeKey !== '';
  }

  /** A stream stands. */
  get isUp(): boolean {
    return this.#sending !== undefined;
  }

  /** Before the start. */
  listen(listener: EndpointSetListener): void {
    this.#listener = listener;
  }

  /** Takes the place of what was told of the endpoint before. While there is no stream it is dropped: `up` asks for all again. */
  report(demand: EndpointDemand): void {
    if (!this.#sending) return;
    this.#demands.set(demand.endpointId, demand);
    this.#sending.wake();
    // Core's silence may be its answer, and requests may wait for another: so it is asked whether it is there.
    this.#toldAtMs = this.#options.clock.monotonicMs();
    this.#line?.expectAnswer();
  }

  protected override onStart(): void {
    const { addresses, tls, transport, clock } = this.#options;
    const pings = { everyMs: LINK_TIMERS.demandPingMs, answerMs: LINK_TIMERS.demandPingAnswerMs };
    this.#lines = addresses.map((address) => new CoreConnection({ open: () => transport.openClient(EdgeServiceClient, address, { tls, pings }), clock }));
    this.#running = stayConnected(this.#lines, (line) => this.#serve(line), { ...this.#options, signal: this.ending });
  }

  protected override async onStop(): Promise<void> {
    // Nothing is in flight here any more.
    this.#stream?.end({ demands: [], reporter: this.#reporter, leaves: true });
    await Promise.race([this.#running, delay(this.#options.clock, FAREWELL_MS)]);
    this.#stream?.cancel();
    await this.#running;
    for (const line of this.#lines) line.close();
  }

  /** Uses one stream until it ends. */
  #serve(line: CoreConnection<EdgeServiceClient>): Promise<void> {
    return new Promise((resolve) => {
      const stream = line.client.watchRotation(callMetadata(this.#options.edgeKey));
      this.#line = line;
      const { clock, logger } = this.#options;
      const sending = new BatchingStream({ sink: stream, clock, take: () => this.#take() });
      let ended = false;
      const end = (cause?: string): void => {
        if (ended) return;
        ended = true;
        if (cause !== undefined && !this.ending.aborted) logger.warn({ cause }, 'rotation stream lost, will connect again');
        leave();
        sending.stop();
        resolve();
        // A late end of one that has a successor must not silence that.
        if (this.#stream !== stream) return;
        this.#line = undefined;
        this.#sending = undefined;
        this.#stream = undefined;
        this.#demands.clear();
      };
      const leave = line.use({ isWaiting: () => clock.monotonicMs() - this.#toldAtMs < EXPECT_ANSWER_MS, onDead: () => {
        end('its connection is dead');
        stream.cancel();
      } });
      stream.on('data', ({ rotations, refusals }: WatchRotationResponse) => {
        line.markSeen();
        for (const rotation of rotations) this.#listener?.onEndpointSet(rotation);
        for (const refusal of refusals) this.#listener?.onRejected(refusal);
      });
      stream.on('error', (error) => end(error.message));
      stream.on('end', () => {
        stream.end();
        end();
      });
      this.#stream = stream;
      this.#sending = sending;
      this.#listener?.onConnected();
    });
  }

  #take(): WatchRotationRequest | undefined {
    const demands = [...this.#demands.values()].slice(0, DEMANDS_MAX);
    for (const { endpointId } of demands) this.#demands.delete(endpointId);
    return demands.length === 0 ? undefined : { demands, reporter: this.#reporter, leaves: false };
  }
}
