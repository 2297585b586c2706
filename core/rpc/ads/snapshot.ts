/**
 * Computes the xDS resources of load-balancing endpoints for an Envoy. A pure function: the same endpoints give the
 * same bytes and versions on every replica and after every restart, so an Envoy that reconnects is sent nothing that it
 * already has.
 *
 * A cluster does not depend on workers and changes only with its endpoint's settings. Its assignment has the workers at
 * the first priority and the activators at the second: the activators get all requests while no worker is ready.
 * Workers that are not ready or are stopping get no new requests. They stay in the assignment because Envoy reports
 * their remaining requests only while they are in it. An Envoy cannot use tunnels: while a worker that takes requests
 * is behind one, the activators get all requests, because only they can distribute them over all workers.
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
 * Types of the resources that core serves. Listeners and routes are the same for all endpoints and are in the edge's
 * own configuration.
 */
export const CLUSTER_TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
export const ASSIGNMENT_TYPE = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
const PROTOCOL_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** A packed resource. */
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
 * Settings of connections to HTTP/2 workers, sizes in bytes. Data that a client does not read waits in its stream's
 * window and counts against the window of the connection too. That window has capacity for all streams, so slow readers
 * neither fill memory nor block others. A worker that does not answer a ping is disconnected, with its calls.
 */
const H2C_STREAMS = 100;
const H2C_WINDOW = 256 * 1024;
const H2C = {
  maxConcurrentStreams: H2C_STREAMS,
  initialStreamWindowSize: H2C_WINDOW,
  initialConnectionWindowSize: H2C_STREAMS * H2C_WINDOW,
  connectionKeepalive: { interval: { seconds: 20, nanos: 0 }, timeout: { seconds: 10, nanos: 0 } },
};
/** Address without a server. A request that is sent to it is retried (edge/envoy-config/direct-way.ts). */
const NOBODY = '127.0.0.1:1';
/**
 * With 100 Envoy would send a part of the requests to the second priority as soon as one worker of the first is not
 * healthy.
 */
const OVERPROVISIONING = 100_000;

/** Settings that differ between Envoys. */
export interface SnapshotSettings {
  /** Format: host:port, with an IP address as the host. */
  activators: readonly string[];
  edgeKey: string;
}

/** Returns the resources of all endpoints. */
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
 * Returns a cached value. A change of one endpoint of thousands must reach Envoy in milliseconds, so the others are
 * packed only once. Endpoints and settings are replaced, never changed.
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

/** Returns an endpoint's cluster. */
export function clusterOf({ endpointId, workersMax, h2c, singleUse }: EndpointBackends): PackedResource {
  const name = clusterName(endpointId);
  // Envoy answers 429 above this limit (docs/reference/api.md#rate-limits).
  const requestsMax = Math.max(LB_REQUESTS_AT_ONCE, workersMax * LB_REQUESTS_AT_ONCE_PER_WORKER);
  const options = HttpProtocolOptions.encode(
    HttpProtocolOptions.fromPartial({
      // A worker may close an idle connection just when a request is sent on it, and that request may not be retried.
      // Most workers keep connections far longer.
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
    // All requests that were about to be sent to a lost machine may be retried elsewhere. There are more connections
    // than requests allowed, so a request above the limit is rejected at once instead of waiting for a connection.
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
    // Never send requests to workers that are not ready, however few are ready.
    commonLbConfig: { healthyPanicThreshold: { value: 0 } },
    ignoreHealthOnHostRemoval: true,
    typedExtensionProtocolOptions: {
      [PROTOCOL_OPTIONS]: { typeUrl: `type.googleapis.com/${PROTOCOL_OPTIONS}`, value: Buffer.from(options) },
    },
  });
  return pack(CLUSTER_TYPE, name, Cluster.encode(cluster).finish());
}

/**
 * Returns the assignment of an endpoint. Its entries for activators name the endpoint in a form that only a holder of
 * `edgeKey` can produce.
 */
export function loadAssignmentOf(
  endpoint: EndpointBackends,
  { activators, edgeKey }: SnapshotSettings,
): PackedResource {
  const name = clusterName(endpoint.endpointId);
  // Activators speak HTTP/1.1. So they get no requests for HTTP/2 workers, and nothing else limits the concurrency of
  // these. Without a second priority Envoy would reject at once a request that comes a moment too early.
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

/**
 * Returns the changes of one type: resources of `after` that are new or different, and names of `before` that are gone.
 */
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
  // Envoy sends to degraded workers only while no other is healthy.
  return surplus ? HealthStatus.DEGRADED : HealthStatus.HEALTHY;
}

/** Returns the entry of an address. Empty if the address is invalid: Envoy would reject the whole assignment. */
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
