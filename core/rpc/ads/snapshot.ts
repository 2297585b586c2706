/**
 * What an Envoy has to know of load-balancing endpoints, as a pure function of these: the same endpoints make the same
 * bytes and versions, on every replica and after every restart, so that an Envoy that comes back is sent nothing that
 * it has.
 *
 * A cluster says nothing of workers and changes only with its endpoint's settings. Its assignment has the workers first
 * and the activators second: those get everything as soon as, and as long as, no worker is ready. Workers that are not
 * ready, or are to go, get nothing new; they stand there because Envoy reports what they still have for as long as they
 * do. An Envoy cannot enter tunnels: as long as a worker that takes requests is behind one, activators get everything,
 * for they alone can share it out among all.
 */
import { createHash } from 'node:crypto';
import { ACTIVATION_METADATA, activationText } from '@slipway/kit/net/activation';
import { clusterName } from '@slipway/kit/net/edge-authorizer';
import { Cluster, Cluster_DiscoveryType, Cluster_LbPolicy } from '@slipway/proto/gen/envoy/config/cluster/v3/cluster';
import { ApiVersion, HealthStatus } from '@slipway/proto/gen/envoy/config/core/v3/core';
import { ClusterLoadAssignment, LbEndpoint } from '@slipway/proto/gen/envoy/config/endpoint/v3/endpoint';
import { HttpProtocolOptions } from '@slipway/proto/gen/envoy/extensions/upstreams/http/v3/http_protocol_options';
import {
  LB_ANSWER_HEADER_BYTES_MAX,
  LB_ANSWER_HEADERS_MAX,
  LB_DIRECT_CONCURRENCY_MIN,
  LB_KEPT_MS,
  LB_REQUESTS_AT_ONCE,
  LB_REQUESTS_AT_ONCE_PER_WORKER,
} from '@slipway/proto/wire/limits';
import type { BackendWorker, EndpointBackends } from '../../store/machines/edge-store.ts';

/**
 * Kinds of resources that core serves. Listeners and routes are the same for all endpoints and stand in the edge's own
 * configuration.
 */
export const CLUSTER_TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
export const ASSIGNMENT_TYPE = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
const PROTOCOL_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** One resource, packed. */
export interface PackedResource {
  name: string;
  typeUrl: string;
  /** Hash of the bytes. */
  version: string;
  bytes: Buffer;
}

/** Resources by type, then by name. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, PackedResource>>;

const CONNECT_SECONDS = 1;
/**
 * Connections to workers of HTTP/2, sizes in bytes. What a client does not read waits in its stream's window, which
 * counts against that of the connection too: this one has room for all streams, so that slow readers fill no memory and
 * hold nobody else up. Who answers no ping is cut off with its calls.
 */
const H2C_STREAMS = 100;
const H2C_WINDOW = 256 * 1024;
const H2C = {
  maxConcurrentStreams: H2C_STREAMS,
  initialStreamWindowSize: H2C_WINDOW,
  initialConnectionWindowSize: H2C_STREAMS * H2C_WINDOW,
  connectionKeepalive: { interval: { seconds: 20, nanos: 0 }, timeout: { seconds: 10, nanos: 0 } },
};
/** Nobody listens there: whoever is sent to it comes again (edge/envoy-config/direct-way.ts). */
const NOBODY = '127.0.0.1:1';
/**
 * With 100 Envoy would send a part of the requests to the second priority as soon as one worker of the first is not
 * healthy.
 */
const OVERPROVISIONING = 100_000;

/** What differs between Envoys. */
export interface SnapshotSettings {
  /** host:port each, by numbers. */
  activators: readonly string[];
  edgeKey: string;
}

/** Everything. */
export function snapshotOf(endpoints: Iterable<EndpointBackends>, settings: SnapshotSettings): Snapshot {
  const sorted = [...endpoints].sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
  const byName = (pack: (endpoint: EndpointBackends) => PackedResource): ReadonlyMap<string, PackedResource> =>
    new Map(sorted.map(pack).map((resource) => [resource.name, resource]));
  const assignments = remembered(
    assignmentsBySettings,
    settings,
    () => new WeakMap<EndpointBackends, PackedResource>(),
  );
  return new Map([
    [CLUSTER_TYPE, byName((endpoint) => remembered(clusters, endpoint, () => clusterOf(endpoint)))],
    [
      ASSIGNMENT_TYPE,
      byName((endpoint) => remembered(assignments, endpoint, () => loadAssignmentOf(endpoint, settings))),
    ],
  ]);
}

/**
 * A change of one endpoint of thousands must reach Envoy in milliseconds: the others are packed once. Endpoints and
 * settings are replaced, never changed.
 */
const clusters = new WeakMap<EndpointBackends, PackedResource>();
const assignmentsBySettings = new WeakMap<SnapshotSettings, WeakMap<EndpointBackends, PackedResource>>();

function remembered<Key extends object, Value>(map: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** An endpoint's cluster. */
export function clusterOf({ endpointId, workersMax, h2c, singleUse }: EndpointBackends): PackedResource {
  const name = clusterName(endpointId);
  // Beyond it Envoy answers 429 (docs/reference/api.md#rate-limits).
  const requestsMax = Math.max(LB_REQUESTS_AT_ONCE, workersMax * LB_REQUESTS_AT_ONCE_PER_WORKER);
  const options = HttpProtocolOptions.encode(
    HttpProtocolOptions.fromPartial({
      // A worker may close an idle connection just when a request is sent on it, and that request may not be sent
      // again. Most keep theirs far longer.
      commonHttpProtocolOptions: {
        ...(singleUse ? { maxRequestsPerConnection: 1 } : { idleTimeout: { seconds: LB_KEPT_MS / 1_000, nanos: 0 } }),
        maxHeadersCount: LB_ANSWER_HEADERS_MAX,
        maxResponseHeadersKb: LB_ANSWER_HEADER_BYTES_MAX / 1_024,
      },
      upstreamProtocolOptions: {
        $case: 'explicitHttpConfig',
        value: {
          protocolConfig: h2c
            ? { $case: 'http2ProtocolOptions', value: H2C }
            : { $case: 'httpProtocolOptions', value: { enableTrailers: true } },
        },
      },
    }),
  ).finish();
  const cluster = Cluster.fromPartial({
    name,
    clusterDiscoveryType: { $case: 'type', value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: {
      edsConfig: { configSourceSpecifier: { $case: 'ads', value: {} }, resourceApiVersion: ApiVersion.V3 },
    },
    connectTimeout: { seconds: CONNECT_SECONDS, nanos: 0 },
    lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
    // All that were about to be sent to a machine that is gone go elsewhere.
    // A connection for one more than may be, which is told at once: where there is none, it would wait for one as long
    // as others last.
    circuitBreakers: {
      thresholds: [
        {
          maxConnections: 2 * requestsMax,
          maxPendingRequests: requestsMax,
          maxRequests: requestsMax,
          maxRetries: requestsMax,
        },
      ],
    },
    // Nothing is sent to workers that are not ready, however few are.
    commonLbConfig: { healthyPanicThreshold: { value: 0 } },
    ignoreHealthOnHostRemoval: true,
    typedExtensionProtocolOptions: {
      [PROTOCOL_OPTIONS]: { typeUrl: `type.googleapis.com/${PROTOCOL_OPTIONS}`, value: Buffer.from(options) },
    },
  });
  return pack(CLUSTER_TYPE, name, Cluster.encode(cluster).finish());
}

/**
 * Where the endpoint's requests go. What is sent to activators names the endpoint in a way that only who has `edgeKey`
 * can make.
 */
export function loadAssignmentOf(
  endpoint: EndpointBackends,
  { activators, edgeKey }: SnapshotSettings,
): PackedResource {
  const name = clusterName(endpoint.endpointId);
  // Activators speak HTTP/1.1, so of workers that do not, they get nothing, and nobody else bounds how much these get
  // at once. Without a second choice Envoy would refuse at once what comes a moment too early.
  const { h2c } = endpoint;
  const workers = h2c || endpoint.workerConcurrency >= LB_DIRECT_CONCURRENCY_MIN ? endpoint.workers : [];
  const activation = activationText(edgeKey, endpoint);
  const shares =
    !endpoint.h2c && endpoint.workers.some(({ ready, tunnelMachineId }) => ready && tunnelMachineId !== '');
  const groups = [
    workers.flatMap((worker) =>
      lbEndpoint(worker.address, { worker: worker.id }, shares ? HealthStatus.DRAINING : healthOf(worker)),
    ),
    h2c
      ? lbEndpoint(NOBODY, {}, HealthStatus.HEALTHY)
      : activators
          .toSorted()
          .flatMap((address) => lbEndpoint(address, { [ACTIVATION_METADATA]: activation }, HealthStatus.HEALTHY)),
  ];
  const assignment = ClusterLoadAssignment.fromPartial({
    clusterName: name,
    endpoints: groups.map((lbEndpoints, priority) => ({ priority, locality: {}, lbEndpoints })),
    policy: { overprovisioningFactor: OVERPROVISIONING },
  });
  return pack(ASSIGNMENT_TYPE, name, ClusterLoadAssignment.encode(assignment).finish());
}

/** What `after` has that `before` has not or has otherwise, and names that it has no more, of one type. */
export function changesOf(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, PackedResource>,
): { changed: PackedResource[]; removed: string[] } {
  return {
    changed: [...after.values()].filter(({ name, version }) => before.get(name) !== version),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

function healthOf({ ready, draining, surplus }: BackendWorker): HealthStatus {
  if (draining) return HealthStatus.DRAINING;
  if (!ready) return HealthStatus.UNHEALTHY;
  // Envoy sends to these only while no other is healthy.
  return surplus ? HealthStatus.DEGRADED : HealthStatus.HEALTHY;
}

/** None when it is no address: Envoy would refuse the whole assignment. */
function lbEndpoint(
  address: string,
  metadata: Readonly<Record<string, string>>,
  healthStatus: HealthStatus,
): LbEndpoint[] {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f:]+)\]|(\d+\.\d+\.\d+\.\d+)):(\d{1,5})$/i.exec(address) ?? [];
  if (port === undefined) return [];
  const socketAddress = {
    address: bracketed ?? plain!,
    portSpecifier: { $case: 'portValue' as const, value: Number(port) },
  };
  return [
    LbEndpoint.fromPartial({
      hostIdentifier: {
        $case: 'endpoint',
        value: { address: { address: { $case: 'socketAddress', value: socketAddress } } },
      },
      healthStatus,
      metadata: { filterMetadata: { 'envoy.lb': metadata } },
    }),
  ];
}

function pack(typeUrl: string, name: string, bytes: Uint8Array): PackedResource {
  return {
    name,
    typeUrl,
    version: createHash('sha256').update(bytes).digest('base64url').slice(0, 16),
    bytes: Buffer.from(bytes),
  };
}
