/** Clusters of the edge: facades over HTTP/1.1, core over HTTP/2, and Envoy's own admin interface for Prometheus. */
import { isIP } from 'node:net';
import { EDGE_METADATA, edgeText } from '@slipway/kit/net/activation';
import { AUTHORIZER_READY_PATH, CLUSTER_HEADER, PATH_HEADER } from '@slipway/kit/net/edge-authorizer';
import type { TlsFiles } from '@slipway/kit/net/tls';
import type { HostPort, Message } from '../message.ts';
import { duration, socketAddress, typed } from '../message.ts';
import {
  ANSWER_HEADERS_KIB_MAX,
  ANSWER_HEADERS_MAX,
  CONNECT_MS,
  CORE_CONNECTION_WINDOW_BYTES,
  CORE_STREAMS_MAX,
  CORE_WINDOW_BYTES,
  FACADE_IDLE_MS,
  PING_ANSWER_MS,
  PING_MS,
} from './limits.ts';
import { coreTransport } from './tls.ts';

/** The last upstream filter. */
export const UPSTREAM_CODEC: Message = {
  name: 'codec',
  typed_config: typed('envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec'),
};
const PROTOCOL_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/**
 * Names of the clusters. Calls of services, streams of agents and xDS never share a connection, because a burst of
 * resets on one connection ends all its streams.
 */
export const CLUSTERS = {
  facades: 'facades',
  activators: 'activators',
  authorizer: 'authorizer',
  facadesAsked: 'facades_asked',
  authorizers: 'authorizers',
  core: 'core',
  coreAgents: 'core_agents',
  coreControl: 'core_control',
  /** Core again, for machines whose TLS ends at core. */
  coreJoined: 'core_joined',
  admin: 'admin',
} as const;

/**
 * Returns the name of the cluster of a single facade. Each facade needs its own tunnel to the machines that cannot be
 * dialled.
 */
export function tunnelCluster(number: number): string {
  return `facade_${number}`;
}

/** Time between two health checks and longest time for the answer, in milliseconds. */
const HEALTH_MS = 1_000;
const HEALTH_ANSWER_MS = 3_000;
/** Most pending requests and connections. Many clients wait for a result, and each wait holds a request. */
const REQUESTS_MAX = 100_000;

/** Settings that differ between edges. */
interface ClusterSettings {
  facades: HostPort[];
  cores: HostPort[];
  coreTls: TlsFiles | undefined;
  joinListen: HostPort | undefined;
  dataDir: string;
  adminSocketFile: string;
  authorizerSocketFile: string;
  edgeKey: string;
}

/** Returns all clusters of an edge. */
export function clusters(settings: ClusterSettings): Message[] {
  const { facades, adminSocketFile, authorizerSocketFile, edgeKey } = settings;
  // Proves to facades that what the edge says of a client is true.
  const upstream =
    edgeKey === '' ? {} : { metadata: { filter_metadata: { 'envoy.lb': { [EDGE_METADATA]: edgeText(edgeKey) } } } };
  return [
    { ...replicas(CLUSTERS.facades, facades, upstream), ...http1(), health_checks: [ready()] },
    // Facades again, for endpoints whose clusters core has not sent yet. What a facade has said of the request stays
    // with it.
    ...(edgeKey === ''
      ? []
      : [
          { ...replicas(CLUSTERS.activators, facades), ...http1([carried()]), health_checks: [ready()] },
          ...authorizers(authorizerSocketFile, facades),
        ]),
    ...facades.map((facade, number) => ({ ...replicas(tunnelCluster(number), [facade]), ...http1() })),
    ...coreClusters(settings),
    atSocket(CLUSTERS.admin, adminSocketFile),
  ];
}

/** Returns the clusters of core. */
function coreClusters({ cores, coreTls, joinListen, dataDir }: ClusterSettings): Message[] {
  const tls = coreTls ? { transport_socket: coreTransport(dataDir) } : {};
  const checked = { ...http2(), health_checks: [{ ...health(), grpc_health_check: {} }] };
  const own = [CLUSTERS.core, CLUSTERS.coreAgents, CLUSTERS.coreControl];
  return [
    ...own.map((name) => ({ ...replicas(name, cores), ...checked, ...tls })),
    ...(joinListen ? [{ ...replicas(CLUSTERS.coreJoined, cores), ...checked, ...onlyChecks(dataDir) }] : []),
  ];
}

/** Adds TLS for health checks only: traffic that passes through is TLS already. */
function onlyChecks(dataDir: string): Message {
  const match = { check: true };
  return {
    health_checks: [{ ...health(), grpc_health_check: {}, transport_socket_match_criteria: match }],
    transport_socket_matches: [{ name: 'checks', match, transport_socket: coreTransport(dataDir) }],
  };
}

/**
 * Returns the authorizer beside this Envoy, with the facades as its fallback while it is not ready or not run. Facades
 * answer while core is away too, so here they count as ready then. If neither counted as ready, Envoy would alternate
 * between the two.
 */
function authorizers(socketFile: string, facades: readonly HostPort[]): Message[] {
  const aggregate = typed('envoy.extensions.clusters.aggregate.v3.ClusterConfig', {
    clusters: [CLUSTERS.authorizer, CLUSTERS.facadesAsked],
  });
  return [
    {
      ...atSocket(CLUSTERS.authorizer, socketFile),
      ...http1(),
      health_checks: [ready(AUTHORIZER_READY_PATH)],
      circuit_breakers: breakers(),
    },
    { ...replicas(CLUSTERS.facadesAsked, facades), ...http1(), health_checks: [ready('/healthz')] },
    {
      name: CLUSTERS.authorizers,
      connect_timeout: duration(CONNECT_MS),
      lb_policy: 'CLUSTER_PROVIDED',
      cluster_type: { name: 'envoy.clusters.aggregate', typed_config: aggregate },
    },
  ];
}

function atSocket(name: string, path: string): Message {
  return {
    name,
    type: 'STATIC',
    connect_timeout: duration(CONNECT_MS),
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path } } } }] }],
    },
  };
}

function breakers(): Message {
  return {
    thresholds: [
      {
        max_connections: REQUESTS_MAX,
        max_pending_requests: REQUESTS_MAX,
        max_requests: REQUESTS_MAX,
        // Only requests that no facade has begun are retried. The budget is this large because half of all requests
        // need a retry while half of the facades are gone.
        retry_budget: { budget_percent: { value: 100 }, min_retry_concurrency: 32 },
      },
    ],
  };
}

function replicas(name: string, addresses: readonly HostPort[], more: Message = {}): Message {
  const named = addresses.some(({ host }) => isIP(host) === 0);
  return {
    name,
    type: named ? 'STRICT_DNS' : 'STATIC',
    connect_timeout: duration(CONNECT_MS),
    lb_policy: 'LEAST_REQUEST',
    // If no replica is ready, all are tried: a facade whose core restarts holds requests until core is back.
    common_lb_config: { healthy_panic_threshold: { value: 1 } },
    ignore_health_on_host_removal: true,
    circuit_breakers: breakers(),
    load_assignment: {
      cluster_name: name,
      endpoints: [
        {
          lb_endpoints: addresses.map((address) => ({ endpoint: { address: socketAddress(address) }, ...more })),
        },
      ],
    },
  };
}

function health(): Message {
  return {
    timeout: duration(HEALTH_ANSWER_MS),
    interval: duration(HEALTH_MS),
    no_traffic_interval: duration(HEALTH_MS),
    unhealthy_threshold: 1,
    healthy_threshold: 1,
  };
}

/** Returns a health check over HTTP. Default path: a facade's. */
function ready(path = '/readyz'): Message {
  return { ...health(), http_health_check: { path } };
}

/** Returns HTTP/1.1 options of a cluster. `filters`: replace the listener's filters for all clusters. */
function http1(filters: readonly Message[] = []): Message {
  const explicit = { http_protocol_options: { enable_trailers: true } };
  const own = filters.length === 0 ? {} : { http_filters: [...filters, UPSTREAM_CODEC] };
  return options({
    common_http_protocol_options: {
      idle_timeout: duration(FACADE_IDLE_MS),
      max_headers_count: ANSWER_HEADERS_MAX,
      max_response_headers_kb: ANSWER_HEADERS_KIB_MAX,
    },
    explicit_http_config: explicit,
    ...own,
  });
}

/**
 * Removes the headers that were meant for the edge, but keeps the header that says whose request it is. Clients' own
 * headers of these names were dropped before.
 */
function carried(): Message {
  const remove = [{ exact: CLUSTER_HEADER }, { exact: PATH_HEADER }, { prefix: 'x-envoy-' }];
  const mutations = { request_mutations: remove.map((key) => ({ remove_on_match: { key_matcher: key } })) };
  return {
    name: 'carried',
    typed_config: typed('envoy.extensions.filters.http.header_mutation.v3.HeaderMutation', { mutations }),
  };
}

function http2(): Message {
  return options({
    explicit_http_config: {
      http2_protocol_options: {
        max_concurrent_streams: CORE_STREAMS_MAX,
        initial_stream_window_size: CORE_WINDOW_BYTES,
        initial_connection_window_size: CORE_CONNECTION_WINDOW_BYTES,
        connection_keepalive: { interval: duration(PING_MS), timeout: duration(PING_ANSWER_MS) },
      },
    },
  });
}

function options(fields: Message): Message {
  return { typed_extension_protocol_options: { [PROTOCOL_OPTIONS]: typed(PROTOCOL_OPTIONS, fields) } };
}
