/**
 * One facade's stream of EdgeService: what it has to do, endpoint by endpoint, and where the workers of those endpoints
 * are. Each demand is checked with the key that it carries, and says which rotation the facade has: it gets the current
 * one whenever that is another, so nothing depends on what was sent before. An endpoint of which nothing is told any
 * more is forgotten.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import type {
  DemandRefusal,
  EndpointDemand,
  EndpointRotation,
  WatchRotationRequest,
  WatchRotationResponse,
} from '@slipway/proto/gen/slipway/v1/edge_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { Access } from '../../access/access.ts';
import type { Reason } from '../../domain/settings/errors.ts';
import type { BackendRegistry } from '../../edge/backend-registry.ts';
import type { DemandWriter } from '../../edge/demand-writer.ts';
import { refusalOf } from '../server/unary.ts';
import { backendsMessage } from './backends-message.ts';
import { hasEdgeKey } from './edge-key.ts';

type Stream = ServerDuplexStream<WatchRotationRequest, WatchRotationResponse>;

/** Limits of edge_service.proto. */
const DEMANDS_MAX = 1_000;
const ENDPOINTS_MAX = 5_000;
/** Workers of one demand that are looked at, and the most that one may say of any of them. */
const WORKERS_MAX = 10_000;
const COUNT_MAX = 1_000_000;
/** Form of the ids of endpoints and of workers, and of what a caller calls itself. */
const ID = /^[a-z0-9]{14}$/;
const REPORTER = /^[a-z0-9]{16}$/;
/** Characters of what is no id that a refusal repeats. */
const ID_SHOWN_MAX = 64;
/** Endpoints in one message. */
const ROTATIONS_MAX = 200;
/** A facade that has not taken a rotation this long after it was sent should have, in milliseconds. */
const TAKEN_MS = 2_000;

/** What all streams of a replica share. */
export interface WatchParts {
  access: Access;
  /** A facade that has it needs no key for its demands. Empty: none has. */
  edgeKey: string;
  registry: BackendRegistry;
  demands: DemandWriter;
  /** A rotation was sent again to a facade that should have had it. */
  onResent(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Watched {
  lastSeenAtMs: number;
  /** The version that the latest demand named. */
  told: string | undefined;
  /** The version that the facade has once all that was sent has arrived. */
  has: string | undefined;
  /** `undefined` if it was not read yet. */
  current: EndpointRotation | undefined;
  /** When the current rotation was first sent to a facade that names `told`. `undefined` if it was not. */
  sentAtMs: number | undefined;
  off(): void;
}

export class WatchRotation {
  readonly #stream: Stream;
  readonly #parts: WatchParts;
  /** Until the caller says its own. */
  #reporter: string;
  readonly #watched = new Map<string, Watched>();
  /** The latest of each, until it has left. */
  readonly #rotations = new Map<string, EndpointRotation>();
  readonly #refusals = new Map<string, DemandRefusal>();
  readonly #sending: BatchingStream<WatchRotationResponse>;
  readonly #onEnd: () => void;
  readonly #hasEdgeKey: boolean;
  #sweep: Timer | undefined;
  #ended = false;

  constructor(stream: Stream, parts: WatchParts, onEnd: () => void) {
    this.#stream = stream;
    this.#parts = parts;
    this.#reporter = parts.random.id(16);
    this.#onEnd = onEnd;
    this.#hasEdgeKey = hasEdgeKey(stream.metadata, parts.edgeKey);
    this.#sending = new BatchingStream({ sink: stream, clock: parts.clock, take: () => this.#take() });
    stream.on('data', (request: WatchRotationRequest) => {
      void this.#receive(request);
    });
    stream.on('end', () => this.close());
    for (const event of ['cancelled', 'error', 'close']) stream.on(event, () => this.#end());
    this.#sweepLater();
  }

  /** Ends it normally: the facade goes to another replica. */
  close(): void {
    if (this.#ended) return;
    this.#end();
    this.#stream.end();
  }

  /** One message at a time, so that an older word never follows a newer one. Never rejects. */
  async #receive({ demands, reporter, leaves }: WatchRotationRequest): Promise<void> {
    this.#stream.pause();
    if (REPORTER.test(reporter)) this.#reporter = reporter;
    // Nothing else says that nothing is in flight: not a stream that breaks, nor one that this replica ends.
    if (leaves) this.#parts.demands.end(this.#reporter);
    for (const [index, demand] of demands.entries()) {
      if (index >= DEMANDS_MAX) this.#refuse(demand.endpointId, 'RATE_LIMITED');
      else await this.#hear(demand);
    }
    if (!this.#ended) this.#stream.resume();
  }

  async #hear(demand: EndpointDemand): Promise<void> {
    const { endpointId, apiKey, waiting, workers, version } = demand;
    const { access, demands } = this.#parts;
    // PostgreSQL would refuse some, and with them what all streams of the replica watch.
    if (!ID.test(endpointId)) return this.#refuse(endpointId.slice(0, ID_SHOWN_MAX), 'ENDPOINT_NOT_FOUND');
    try {
      // A part of the installation asks for itself; an endpoint that is not there or of another type is told of as
      // gone.
      const isOurs = apiKey === '' && this.#hasEdgeKey;
      const type = isOurs ? 'LB' : (await access.check(apiKey, { api: 'JOBS', endpointId })).endpoint.type;
      if (this.#ended) return;
      if (type !== 'LB') return this.#refuse(endpointId, 'WRONG_ENDPOINT_TYPE');
    } catch (error) {
      const { reason } = refusalOf(error);
      // A part of core is away: nothing is known of the key, so nothing is said of it.
      if (reason !== 'UNAVAILABLE' && reason !== 'INTERNAL') this.#refuse(endpointId, reason);
      return;
    }
    if (!this.#watched.has(endpointId) && this.#watched.size >= ENDPOINTS_MAX)
      return this.#refuse(endpointId, 'RATE_LIMITED');
    const counted = workers.slice(0, WORKERS_MAX).filter(({ workerId, inFlight }) => ID.test(workerId) && inFlight > 0);
    const inFlight = new Map(counted.map((load) => [load.workerId, Math.min(load.inFlight, COUNT_MAX)]));
    demands.add({ endpointId, reporter: this.#reporter, waiting: Math.min(Math.max(waiting, 0), COUNT_MAX), inFlight });
    this.#answer(this.#watched.get(endpointId) ?? this.#watch(endpointId, version), version);
  }

  /** Sends what the facade does not have. */
  #answer(watched: Watched, version: string | undefined): void {
    const now = this.#parts.clock.monotonicMs();
    const isRepeated = version !== undefined && version === watched.told;
    Object.assign(watched, { lastSeenAtMs: now, told: version, has: version });
    // A facade that has dropped the endpoint since asks anew: only what is sent from now on can be missing.
    if (!isRepeated) watched.sentAtMs = undefined;
    const { current, sentAtMs } = watched;
    if (!current || version === current.version) return;
    if (isRepeated && sentAtMs !== undefined && now - sentAtMs >= TAKEN_MS) this.#parts.onResent();
    this.#send(watched, current);
  }

  #watch(endpointId: string, version: string | undefined): Watched {
    const { registry, clock } = this.#parts;
    const watched: Watched = {
      lastSeenAtMs: clock.monotonicMs(),
      told: undefined,
      has: version,
      current: undefined,
      sentAtMs: undefined,
      off: () => undefined,
    };
    this.#watched.set(endpointId, watched);
    const off = registry.watch(endpointId, (rotation) => {
      if (this.#watched.get(endpointId) !== watched) return;
      if (!rotation) return this.#refuse(endpointId, 'ENDPOINT_NOT_FOUND');
      const current = backendsMessage(rotation);
      Object.assign(watched, { current, sentAtMs: undefined });
      if (watched.has !== current.version) this.#send(watched, current);
    });
    // The board may have known at once that it is gone: then nobody ends this any more.
    if (this.#watched.get(endpointId) === watched) watched.off = off;
    else off();
    return watched;
  }

  #send(watched: Watched, current: EndpointRotation): void {
    watched.has = current.version;
    watched.sentAtMs ??= this.#parts.clock.monotonicMs();
    this.#rotations.set(current.endpointId, current);
    this.#sending.wake();
  }

  #refuse(endpointId: string, reason: Reason): void {
    this.#forget(endpointId);
    // Who does not read them is told at his next demand.
    if (this.#refusals.size >= ENDPOINTS_MAX && !this.#refusals.has(endpointId)) return;
    this.#refusals.set(endpointId, { endpointId, reason });
    this.#sending.wake();
  }

  #forget(endpointId: string): void {
    this.#watched.get(endpointId)?.off();
    this.#watched.delete(endpointId);
    this.#rotations.delete(endpointId);
  }

  #take(): WatchRotationResponse | undefined {
    const rotations = [...this.#rotations.values()].slice(0, ROTATIONS_MAX);
    const refusals = [...this.#refusals.values()].slice(0, ROTATIONS_MAX);
    for (const { endpointId } of rotations) this.#rotations.delete(endpointId);
    for (const { endpointId } of refusals) this.#refusals.delete(endpointId);
    return rotations.length + refusals.length === 0 ? undefined : { rotations, refusals };
  }

  #sweepLater(): void {
    const { clock } = this.#parts;
    this.#sweep = clock.after(LINK_TIMERS.subscriptionMs, () => {
      const oldest = clock.monotonicMs() - LINK_TIMERS.subscriptionMs;
      for (const [id, { lastSeenAtMs }] of this.#watched) if (lastSeenAtMs < oldest) this.#forget(id);
      this.#sweepLater();
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sweep?.cancel();
    this.#sending.stop();
    for (const id of [...this.#watched.keys()]) this.#forget(id);
    this.#onEnd();
  }
}
