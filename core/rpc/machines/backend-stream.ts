/**
 * One facade's stream of EdgeService: it reports its demand for each endpoint and gets the backends of those endpoints.
 * Each demand is checked with the key that it carries and names the version of the backends that the facade has. The
 * facade gets the current version if it has another one, so nothing depends on what was sent before. An endpoint that
 * is no longer reported is dropped.
 */

import type { ServerDuplexStream } from '@grpc/grpc-js';
import { shortText } from '@slipway/kit/bytes/short-text';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
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
import type { DomainReason } from '../../domain/settings/errors.ts';
import type { BackendRegistry } from '../../edge/backend-registry.ts';
import type { DemandWriter } from '../../edge/demand-writer.ts';
import { refusalOf } from '../server/unary.ts';
import { backendsMessage } from './backends-message.ts';
import { hasEdgeKey } from './edge-key.ts';

type Stream = ServerDuplexStream<WatchRotationRequest, WatchRotationResponse>;

/** Limits of edge_service.proto. */
const DEMANDS_MAX = 1_000;
const ENDPOINTS_MAX = 5_000;
/** Most workers of one demand that are read, and the most requests that may be reported for one of them. */
const WORKERS_MAX = 10_000;
const COUNT_MAX = 1_000_000;
/** Forms of the ids of endpoints and workers, and of the reporter's id. */
const ID = /^[a-z0-9]{14}$/;
const REPORTER = /^[a-z0-9]{16}$/;
/** Most characters of an invalid id that a rejection repeats. */
const ID_SHOWN_MAX = 64;
/** Most endpoints in one message. */
const SETS_PER_MESSAGE_MAX = 200;
/** Time in milliseconds after which a facade should have accepted the backends that it was sent. */
const TAKEN_MS = 2_000;

/** Dependencies that all streams of a replica share. */
export interface WatchParts {
  access: Access;
  /** A facade that has one of these keys needs no API key for its demands. */
  edgeKeys: EdgeKeys;
  registry: BackendRegistry;
  demands: DemandWriter;
  /** Called when backends were sent again to a facade that should have had them. */
  onResent(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Watched {
  lastSeenAtMs: number;
  /** The version that the latest demand named. */
  reportedVersion: string | undefined;
  /** The version that the facade will have once everything that was sent has arrived. */
  has: string | undefined;
  /** `undefined` if it was not read yet. */
  current: EndpointRotation | undefined;
  /** When the current version was first sent to a facade that names `reportedVersion`. `undefined` if not sent. */
  sentAtMs: number | undefined;
  off(): void;
}

export class BackendStream {
  readonly #stream: Stream;
  readonly #parts: WatchParts;
  /**
   * Id of the reporter. Generated until the caller reports its own, which stays: each id has a row for each endpoint,
   * and a stream with ever new ones would crowd out the demands of others.
   */
  #reporter: string;
  #hasReported = false;
  readonly #watched = new Map<string, Watched>();
  /** Latest backends of each endpoint, until they were sent. */
  readonly #changedSets = new Map<string, EndpointRotation>();
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
    this.#hasEdgeKey = hasEdgeKey(stream.metadata, parts.edgeKeys);
    this.#sending = new BatchingStream({ sink: stream, clock: parts.clock, take: () => this.#take() });
    stream.on('data', (request: WatchRotationRequest) => {
      void this.#receive(request);
    });
    stream.on('end', () => this.close());
    for (const event of ['cancelled', 'error', 'close']) stream.on(event, () => this.#end());
    this.#sweepLater();
  }

  /** Ends the stream normally: the facade reconnects to another replica. */
  close(): void {
    if (this.#ended) return;
    this.#end();
    this.#stream.end();
  }

  /** Handles one message at a time, so that an older report never follows a newer one. Never rejects. */
  async #receive({ demands, reporter, leaves }: WatchRotationRequest): Promise<void> {
    this.#stream.pause();
    if (!this.#hasReported && REPORTER.test(reporter)) {
      this.#reporter = reporter;
      this.#hasReported = true;
    }
    // Only this means that nothing is in flight. A stream that breaks, or that this replica ends, means nothing.
    if (leaves) this.#parts.demands.end(this.#reporter);
    for (const [index, demand] of demands.entries()) {
      if (index >= DEMANDS_MAX) this.#reject(shortText(demand.endpointId, ID_SHOWN_MAX), 'RATE_LIMITED');
      else await this.#hear(demand);
    }
    if (!this.#ended) this.#stream.resume();
  }

  async #hear(demand: EndpointDemand): Promise<void> {
    const { endpointId, apiKey, waiting, workers, version } = demand;
    const { access, demands } = this.#parts;
    // PostgreSQL would reject some ids, and with them the query for all streams of the replica.
    if (!ID.test(endpointId)) return this.#reject(shortText(endpointId, ID_SHOWN_MAX), 'ENDPOINT_NOT_FOUND');
    try {
      // A part of the installation asks on its own behalf. An endpoint that does not exist or has another type is
      // reported as gone.
      const isOurs = apiKey === '' && this.#hasEdgeKey;
      const type = isOurs ? 'LB' : (await access.check(apiKey, { api: 'JOBS', endpointId })).endpoint.type;
      if (this.#ended) return;
      if (type !== 'LB') return this.#reject(endpointId, 'WRONG_ENDPOINT_TYPE');
    } catch (error) {
      const { reason } = refusalOf(error);
      // A part of core is unavailable: the key could not be checked, so nothing is reported about it.
      if (reason !== 'UNAVAILABLE' && reason !== 'INTERNAL') this.#reject(endpointId, reason);
      return;
    }
    if (!this.#watched.has(endpointId) && this.#watched.size >= ENDPOINTS_MAX)
      return this.#reject(endpointId, 'RATE_LIMITED');
    const counted = workers.slice(0, WORKERS_MAX).filter(({ workerId, inFlight }) => ID.test(workerId) && inFlight > 0);
    const inFlight = new Map(counted.map((load) => [load.workerId, Math.min(load.inFlight, COUNT_MAX)]));
    demands.add({ endpointId, reporter: this.#reporter, waiting: Math.min(Math.max(waiting, 0), COUNT_MAX), inFlight });
    this.#answer(this.#watched.get(endpointId) ?? this.#watch(endpointId, version), version);
  }

  /** Sends the backends if the facade has another version. */
  #answer(watched: Watched, version: string | undefined): void {
    const now = this.#parts.clock.monotonicMs();
    const isRepeated = version !== undefined && version === watched.reportedVersion;
    Object.assign(watched, { lastSeenAtMs: now, reportedVersion: version, has: version });
    // A facade that has dropped the endpoint since asks again: only what is sent from now on can be missing.
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
      reportedVersion: undefined,
      has: version,
      current: undefined,
      sentAtMs: undefined,
      off: () => undefined,
    };
    this.#watched.set(endpointId, watched);
    const off = registry.watch(endpointId, (backends) => {
      if (this.#watched.get(endpointId) !== watched) return;
      if (!backends) return this.#reject(endpointId, 'ENDPOINT_NOT_FOUND');
      const current = backendsMessage(backends);
      Object.assign(watched, { current, sentAtMs: undefined });
      if (watched.has !== current.version) this.#send(watched, current);
    });
    // The registry may have reported at once that the endpoint is gone. Then nothing else would end this watch.
    if (this.#watched.get(endpointId) === watched) watched.off = off;
    else off();
    return watched;
  }

  #send(watched: Watched, current: EndpointRotation): void {
    watched.has = current.version;
    watched.sentAtMs ??= this.#parts.clock.monotonicMs();
    this.#changedSets.set(current.endpointId, current);
    this.#sending.wake();
  }

  #reject(endpointId: string, reason: DomainReason): void {
    this.#forget(endpointId);
    // A facade that does not read rejections gets them again with its next demand.
    if (this.#refusals.size >= ENDPOINTS_MAX && !this.#refusals.has(endpointId)) return;
    this.#refusals.set(endpointId, { endpointId, reason });
    this.#sending.wake();
  }

  #forget(endpointId: string): void {
    this.#watched.get(endpointId)?.off();
    this.#watched.delete(endpointId);
    this.#changedSets.delete(endpointId);
  }

  #take(): WatchRotationResponse | undefined {
    const rotations = [...this.#changedSets.values()].slice(0, SETS_PER_MESSAGE_MAX);
    const refusals = [...this.#refusals.values()].slice(0, SETS_PER_MESSAGE_MAX);
    for (const { endpointId } of rotations) this.#changedSets.delete(endpointId);
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
