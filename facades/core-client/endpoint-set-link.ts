/**
 * Keeps one EdgeService.WatchRotation stream to a core replica: sends demand and receives endpoint sets. Reconnects
 * by itself.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import { callMetadata } from '@slipway/kit/net/channel';
import type { PerReplica } from '@slipway/kit/replicas/per-replica';
import { delay } from '@slipway/kit/time/clock';
import type {
  DemandRefusal,
  EndpointDemand,
  EndpointRotation,
  WatchRotationRequest,
  WatchRotationResponse,
} from '@slipway/proto/gen/slipway/v1/edge_service';
import { EdgeServiceClient } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { CoreConnection } from './core-connection.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { connections } from './replica-parts.ts';
import { stayConnected } from './stay-connected.ts';

/** Listener for endpoint sets. */
interface EndpointSetListener {
  onEndpointSet(endpointSet: EndpointRotation): void;
  onRejected(refusal: DemandRefusal): void;
  /** Called when a new stream is open. All demand must be reported again. */
  onConnected(): void;
}

interface EndpointSetLinkOptions extends ReplicaParts {
  /** Key of edges, with which demand needs no account key. Empty if there is none. */
  edgeKey: string;
  logger: Logger;
}

/** Most demands in a message. */
const DEMANDS_MAX = 1_000;
/** Time after a report in which core is expected to answer, in milliseconds. */
const EXPECT_ANSWER_MS = 3_000;
const REPORTER_LENGTH = 16;
/** Longest wait for an orderly end of the stream, in milliseconds. */
const FAREWELL_MS = 500;

export class EndpointSetLink extends BaseService {
  readonly name = 'rotation link';
  readonly #options: EndpointSetLinkOptions;
  /** Latest unsent demand by endpoint. */
  readonly #demands = new Map<string, EndpointDemand>();
  /** Id of this process: a new stream replaces the demand of the previous one. */
  readonly #reporter: string;
  #listener: EndpointSetListener | undefined;
  readonly #lines: PerReplica<CoreConnection<EdgeServiceClient>>;
  #line: CoreConnection<EdgeServiceClient> | undefined;
  #sentAtMs = -Infinity;
  #stream: ClientDuplexStream<WatchRotationRequest, WatchRotationResponse> | undefined;
  #sending: BatchingStream<WatchRotationRequest> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: EndpointSetLinkOptions) {
    super();
    this.#options = options;
    this.#reporter = options.random.id(REPORTER_LENGTH);
    const pings = { everyMs: LINK_TIMERS.demandPingMs, answerMs: LINK_TIMERS.demandPingAnswerMs };
    this.#lines = connections(EdgeServiceClient, options, { pings });
  }

  /** Demand is reported with the edge key. */
  get hasEdgeKey(): boolean {
    return this.#options.edgeKey !== '';
  }

  /** Whether a stream is open. */
  get isUp(): boolean {
    return this.#sending !== undefined;
  }

  /** Sets the listener. Call before start. */
  listen(listener: EndpointSetListener): void {
    this.#listener = listener;
  }

  /**
   * Reports demand of an endpoint, replacing its previous report. Dropped while no stream is open: `onConnected` asks
   * for all again.
   */
  report(demand: EndpointDemand): void {
    if (!this.#sending) return;
    this.#demands.set(demand.endpointId, demand);
    this.#sending.wake();
    // Core may have nothing to answer, so the connection is probed.
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#line?.expectAnswer();
  }

  protected override onStart(): void {
    const parts = { ...this.#options, signal: this.ending };
    this.#running = stayConnected(
      () => this.#lines.all(),
      (line) => this.#serve(line),
      parts,
    );
  }

  protected override async onStop(): Promise<void> {
    // Nothing is in flight here any more.
    this.#stream?.end({ demands: [], reporter: this.#reporter, leaves: true });
    await Promise.race([this.#running, delay(this.#options.clock, FAREWELL_MS)]);
    this.#stream?.cancel();
    await this.#running;
    this.#lines.close();
  }

  /** Serves one stream until it ends. */
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
        if (cause !== undefined && !this.ending.aborted)
          logger.warn({ cause }, 'endpoint set stream lost, will reconnect');
        leave();
        sending.stop();
        resolve();
        // A late end of a stream that has been replaced must not affect its successor.
        if (this.#stream !== stream) return;
        this.#line = undefined;
        this.#sending = undefined;
        this.#stream = undefined;
        this.#demands.clear();
      };
      const leave = line.use({
        isWaiting: () => clock.monotonicMs() - this.#sentAtMs < EXPECT_ANSWER_MS,
        onDead: () => {
          end('its connection is dead');
          stream.cancel();
        },
      });
      stream.on('data', ({ rotations, refusals }: WatchRotationResponse) => {
        line.markSeen();
        for (const endpointSet of rotations) this.#listener?.onEndpointSet(endpointSet);
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
