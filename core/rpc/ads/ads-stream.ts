/**
 * One Envoy's stream of delta xDS. It records the name and version of each resource that the Envoy has, and sends the
 * difference. So nothing waits in a queue, however fast resources change, and the next stream makes up for one that
 * breaks. Clusters are sent before the assignments that need them.
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

interface AdsParts {
  directory: BackendDirectory;
  edgeKey: string;
  logger: Logger;
  /** Called when an Envoy rejected an update. */
  onRefused(typeUrl: string): void;
}

/** Types in the order in which they are sent: a resource must be sent after the resources that it names. */
const TYPES = [CLUSTER_TYPE, ASSIGNMENT_TYPE];
/** Most resources in one message. */
const RESOURCES_MAX = 1_000;
/** Most activators that an Envoy may name. */
const ACTIVATORS_MAX = 64;

/** Resources of one type that the Envoy subscribes to, and resources that it has. */
interface Subscription {
  /** True if it subscribes to all resources. */
  all: boolean;
  names: Set<string>;
  /** Versions by name. A rejected one is included, as sending it again would not help. */
  known: Map<string, string>;
  /** True until the first response was sent: it is required even if it is empty. */
  owed: boolean;
}

interface Pushed {
  snapshot: Snapshot;
  asked: readonly string[];
  /** Names of the resources that can have changed. `undefined`: all. */
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
  /** True if the Envoy has all resources, so that only changes must be sent. */
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
    // An Envoy that disconnects ends its side, or the connection breaks.
    call.on('end', () => call.end());
    for (const event of ['cancelled', 'error', 'close']) call.on(event, () => this.#end());
  }

  /** Ends the stream. The Envoy then connects to another replica and uses its present resources until that responds. */
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
      // A repeated subscription: the Envoy wants the resource again, whatever it was sent before.
      if (!(name in request.initialResourceVersions)) subscription.known.delete(name);
    }
    for (const name of request.resourceNamesUnsubscribe) {
      subscription.names.delete(name);
      subscription.known.delete(name);
    }
    const { resourceNamesSubscribe: asked, resourceNamesUnsubscribe: left } = request;
    // Most requests only acknowledge what was sent.
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
      'an edge rejected its configuration and keeps the previous one',
    );
  }

  /**
   * Sends the changes. `changed`: endpoints that changed, if known. `asked`: names that require a response even if
   * there is no such resource.
   */
  #push({ changed, asked = [] }: { changed?: readonly string[]; asked?: readonly string[] } = {}): void {
    const { directory } = this.#parts;
    if (this.#blocked || !directory.loaded) {
      this.#isWhole = false;
      return;
    }
    // A change of one endpoint of thousands must reach the Envoy in milliseconds.
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
    // An Envoy that gets a changed cluster forgets its assignment and does not ask for it: send it again.
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
