/**
 * One Envoy's stream of delta xDS. It holds what the Envoy has, by name and version, and sends what differs; so nothing
 * waits in a queue however fast the world changes, and a stream that breaks is made up for by the next one. Clusters go
 * before the assignments that need them.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import { clusterName } from '@slipway/kit/net/edge-authorizer';
import type {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
} from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import type { BackendDirectory } from '../../edge/backend-directory.ts';
import type { PackedResource, Snapshot, SnapshotSettings } from './snapshot.ts';
import { ASSIGNMENT_TYPE, CLUSTER_TYPE, changesOf, snapshotOf } from './snapshot.ts';

/** A stream of the service. */
type AdsCall = ServerDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>;

export interface AdsParts {
  directory: BackendDirectory;
  edgeKey: string;
  logger: Logger;
  /** An Envoy refused what it was sent. */
  onRefused(typeUrl: string): void;
}

/** In the order in which they are sent: what is named must be there. */
const TYPES = [CLUSTER_TYPE, ASSIGNMENT_TYPE];
/** Resources of one message. */
const RESOURCES_MAX = 1_000;
/** Activators that an Envoy may name. */
const ACTIVATORS_MAX = 64;

/** What the Envoy wants of one type, and what it has. */
interface Subscription {
  /** It wants all there are. */
  all: boolean;
  names: Set<string>;
  /** Version by name; a refused one counts as had, for to send it again would not help. */
  known: Map<string, string>;
  /** Nothing was answered yet: the first answer is owed, also an empty one. */
  owed: boolean;
}

interface Pushed {
  snapshot: Snapshot;
  asked: readonly string[];
  /** Nothing else can have changed. */
  only: readonly string[] | undefined;
}

export class AdsStream {
  readonly #call: AdsCall;
  readonly #parts: AdsParts;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #off: () => void;
  readonly #onEnd: () => void;
  #settings: SnapshotSettings;
  #node = '';
  #nonce = 0;
  #blocked = false;
  /** The Envoy has all there was; what changes is all that it needs. */
  #isWhole = false;

  constructor(call: AdsCall, parts: AdsParts, onEnd: () => void) {
    this.#call = call;
    this.#parts = parts;
    this.#onEnd = onEnd;
    this.#settings = { activators: [], edgeKey: parts.edgeKey };
    this.#off = parts.directory.listen((endpointIds) => this.#push({ changed: endpointIds }));
    call.on('data', (request: DeltaDiscoveryRequest) => this.#take(request));
    call.on('drain', () => {
      this.#blocked = false;
      this.#push();
    });
    // An Envoy that leaves ends its side, or the connection breaks.
    call.on('end', () => call.end());
    for (const event of ['cancelled', 'error', 'close']) call.on(event, () => this.#end());
  }

  /** Ends it; the Envoy asks another replica then, and goes on with what it has until that answers. */
  close(): void {
    this.#off();
    this.#call.end();
  }

  #end(): void {
    this.#off();
    this.#onEnd();
  }

  #take(request: DeltaDiscoveryRequest): void {
    if (request.node) this.#meet(request.node);
    const { typeUrl } = request;
    if (!TYPES.includes(typeUrl)) return;
    if (request.errorDetail) this.#refused(request);
    const isNew = !this.#subscriptions.has(typeUrl);
    const subscription = this.#subscriptionOf(request);
    for (const name of request.resourceNamesSubscribe) {
      subscription.names.add(name);
      // Asked for again: it wants to be told, whatever it was told before.
      if (!(name in request.initialResourceVersions)) subscription.known.delete(name);
    }
    for (const name of request.resourceNamesUnsubscribe) {
      subscription.names.delete(name);
      subscription.known.delete(name);
    }
    const { resourceNamesSubscribe: asked, resourceNamesUnsubscribe: left } = request;
    // Most only say that they have what was sent.
    if (isNew || asked.length > 0 || left.length > 0) this.#push({ asked });
  }

  #meet(node: NonNullable<DeltaDiscoveryRequest['node']>): void {
    const named: unknown = node.metadata?.['activators'];
    const activators = Array.isArray(named)
      ? named.filter((address) => typeof address === 'string').slice(0, ACTIVATORS_MAX)
      : [];
    this.#settings = { ...this.#settings, activators };
    this.#node = node.id;
    this.#isWhole = false;
    this.#parts.logger.info({ edge: node.id, activators: activators.length }, 'edge connected');
  }

  #subscriptionOf({ typeUrl, resourceNamesSubscribe, initialResourceVersions }: DeltaDiscoveryRequest): Subscription {
    const there = this.#subscriptions.get(typeUrl);
    if (there) return there;
    const all =
      typeUrl === CLUSTER_TYPE && (resourceNamesSubscribe.length === 0 || resourceNamesSubscribe.includes('*'));
    const subscription = {
      all,
      names: new Set<string>(),
      known: new Map(Object.entries(initialResourceVersions)),
      owed: all,
    };
    this.#subscriptions.set(typeUrl, subscription);
    return subscription;
  }

  #refused({ typeUrl, errorDetail, responseNonce }: DeltaDiscoveryRequest): void {
    this.#parts.onRefused(typeUrl);
    this.#parts.logger.error(
      { edge: this.#node, typeUrl, nonce: responseNonce, cause: errorDetail!.message.slice(0, 2_000) },
      'an edge refuses what it was sent and goes on with what it had',
    );
  }

  /**
   * `changed`: endpoints that did, when that is known; `asked`: names that are owed an answer even when there is no
   * such thing.
   */
  #push({ changed, asked = [] }: { changed?: readonly string[]; asked?: readonly string[] } = {}): void {
    const { directory } = this.#parts;
    if (this.#blocked || !directory.loaded) {
      this.#isWhole = false;
      return;
    }
    // One of thousands must reach Envoy in milliseconds.
    const some = this.#isWhole ? changed : undefined;
    const endpoints = some ? some.flatMap((id) => directory.endpoints.get(id) ?? []) : directory.endpoints.values();
    const snapshot = snapshotOf(endpoints, this.#settings);
    this.#isWhole = true;
    for (const typeUrl of TYPES) {
      const subscription = this.#subscriptions.get(typeUrl);
      if (subscription) this.#pushType(typeUrl, subscription, { snapshot, asked, only: some?.map(clusterName) });
    }
  }

  #pushType(typeUrl: string, subscription: Subscription, { snapshot, asked, only }: Pushed): void {
    const { all, names, known } = subscription;
    const there = snapshot.get(typeUrl)!;
    const wanted = all ? there : new Map([...there].filter(([name]) => names.has(name)));
    const before = only
      ? new Map(only.flatMap((name) => (known.has(name) ? [[name, known.get(name)!] as const] : [])))
      : known;
    const { changed, removed } = changesOf(before, wanted);
    if (!all) removed.push(...asked.filter((name) => names.has(name) && !there.has(name) && !known.has(name)));
    if (changed.length === 0 && removed.length === 0 && !subscription.owed) return;
    subscription.owed = false;
    for (let at = 0; at === 0 || at < changed.length; at += RESOURCES_MAX) {
      this.#send(typeUrl, changed.slice(at, at + RESOURCES_MAX), at === 0 ? removed : []);
    }
    for (const { name, version } of changed) known.set(name, version);
    for (const name of removed) known.delete(name);
    // An Envoy that gets a cluster anew forgets where its requests go and does not ask: it is told again.
    if (typeUrl === CLUSTER_TYPE)
      for (const { name } of changed) this.#subscriptions.get(ASSIGNMENT_TYPE)?.known.delete(name);
  }

  #send(typeUrl: string, resources: readonly PackedResource[], removedResources: string[]): void {
    this.#nonce += 1;
    const taken = this.#call.write({
      systemVersionInfo: '',
      typeUrl,
      nonce: String(this.#nonce),
      removedResources,
      resources: resources.map(({ name, version, bytes }) => ({ name, version, resource: { typeUrl, value: bytes } })),
    });
    if (!taken) this.#blocked = true;
  }
}
