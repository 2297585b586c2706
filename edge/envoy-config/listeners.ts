/** Listeners of the edge: clients over HTTP, internal services and agents over gRPC, and Prometheus. */
import { TUNNEL_COUNT_HEADER, TUNNEL_PATH, TUNNEL_PROTOCOL } from '@slipway/kit/net/tunnel';
import type { EdgeConfig } from '../config.ts';
import { FLOOD_WINDOW_MS } from '../config.ts';
import type { HostPort, Message } from '../message.ts';
import { duration, socketAddress, typed } from '../message.ts';
import { requestLog } from './access-log.ts';
import { CLUSTERS, tunnelCluster } from './clusters.ts';
import { directFilters, directRoutes, upstreamFilters } from './direct-way.ts';
import { httpManager } from './http.ts';
import {
  BUFFER_BYTES,
  CORE_CONNECTION_WINDOW_BYTES,
  CORE_WINDOW_BYTES,
  PING_ANSWER_MS,
  PING_MS,
  REQUEST_SILENCE_MS,
  socketSilenceMs,
} from './limits.ts';
import { localReplies } from './local-replies.ts';
import { amongReplicas } from './retries.ts';
import { serverTls } from './tls.ts';

/**
 * Health check for a load balancer in front: 200 while this edge takes requests and a facade is ready, 503 while it
 * drains.
 */
const EDGE_READY_PATH = '/edge/readyz';
/** Longest silence of a machine's connection, in milliseconds. Agents send pings far more often. */
const JOIN_IDLE_MS = 300_000;
const METRICS_PATH = '/metrics';
const AGENT_SERVICE = '/slipway.v1.AgentService/';
const SERVICES = '/slipway.v1.';
const HEALTH_SERVICE = '/grpc.health.v1.Health/';
/** Reflection service, by which grpcurl and similar clients learn the calls. */
const REFLECTION_SERVICE = '/grpc.reflection.';
const FOR_SERVICES = [SERVICES, HEALTH_SERVICE, REFLECTION_SERVICE];

/** Most client addresses that the flood guard tracks. */
const ADDRESSES_MAX = 20_000;
/** Prefix lengths of the network of one client, in bits. A home has a /64. */
const CLIENT_NETWORK = { v4_prefix_mask_len: 32, v6_prefix_mask_len: 64 };
const WEB_SOCKET = { name: 'upgrade', string_match: { exact: 'websocket', ignore_case: true } };
const FLOOD_GUARD = 'envoy.filters.http.local_ratelimit';

/** Returns all listeners of an edge. */
export function listeners(config: EdgeConfig): Message[] {
  const { grpcListen, agentListen, joinListen, metricsListen } = config;
  return [
    publicListener(config),
    ...(grpcListen
      ? [grpcListener(config, { name: 'grpc', address: grpcListen, cluster: CLUSTERS.core, prefixes: FOR_SERVICES })]
      : []),
    ...(agentListen
      ? [
          grpcListener(config, {
            name: 'agents',
            address: agentListen,
            cluster: CLUSTERS.coreAgents,
            prefixes: [AGENT_SERVICE],
          }),
        ]
      : []),
    ...(joinListen ? [listener('join', joinListen, passedOn(), {})] : []),
    ...(metricsListen ? [metricsListener(metricsListen)] : []),
  ];
}

function publicListener(config: EdgeConfig): Message {
  const isDirect = config.edgeKey !== '';
  const facades = [socketRoute(config), facadeRoute(config)];
  const way = { edgeKey: config.edgeKey, facades: config.facades.length };
  const routes = isDirect ? directRoutes(facades, way) : facades;
  const filter = httpManager({
    name: 'public',
    trustedProxies: config.trustedProxies,
    accessLog: config.accessLog,
    logs: isDirect ? [requestLog(config.edgeKey)] : [],
    silenceMs: REQUEST_SILENCE_MS,
    filters: [readiness(), floodGuard(config.requestsPerAddress), ...(isDirect ? directFilters(way) : [])],
    virtualHosts: [{ name: 'facades', domains: ['*'], routes: [twoHosts(), ...socketsWithBodies(), ...routes] }],
    upstreamFilters: isDirect ? upstreamFilters() : [],
    onlyUpgrade: 'websocket',
    more: { local_reply_config: localReplies(), upgrade_configs: [{ upgrade_type: 'websocket' }] },
  });
  return listener(
    'public',
    config.listen,
    filter,
    config.certificate ? serverTls(config.dataDir, { alpn: ['h2', 'http/1.1'], clients: false }) : {},
  );
}

/** Matches two Host headers, which Envoy joins by a comma. A part behind it could use either. */
function twoHosts(): Message {
  return {
    match: { prefix: '/', headers: [{ name: ':authority', string_match: { contains: ',' } }] },
    direct_response: { status: 400 },
  };
}

/**
 * Matches WebSocket requests with a body. What follows them could be the body or the first bytes of the other protocol.
 * Envoy forwards none of it to a worker that waits for the other protocol.
 */
function socketsWithBodies(): Message[] {
  const bodies = [
    { name: 'content-length', string_match: { safe_regex: { regex: '0*[1-9].*' } } },
    { name: 'transfer-encoding', present_match: true },
  ];
  return bodies.map((body) => ({
    match: { prefix: '/', headers: [WEB_SOCKET, body] },
    direct_response: { status: 400 },
  }));
}

/** Routes WebSockets of load-balancing endpoints. A facade answers all other WebSocket requests too. */
function socketRoute({ lbSocketIdleMs, facades }: EdgeConfig): Message {
  const times = { timeout: '0s', idle_timeout: duration(socketSilenceMs(lbSocketIdleMs)) };
  const route = { cluster: CLUSTERS.facades, ...times, retry_policy: amongReplicas(facades.length) };
  return { match: { prefix: '/', headers: [WEB_SOCKET] }, route };
}

function facadeRoute({ facades }: EdgeConfig): Message {
  return {
    match: { prefix: '/' },
    route: {
      cluster: CLUSTERS.facades,
      timeout: '0s',
      idle_timeout: duration(REQUEST_SILENCE_MS),
      // Retries only what no facade has begun. A submission that was perhaps accepted must be retried by the client.
      retry_policy: amongReplicas(facades.length),
    },
  };
}

/**
 * Routes agents' tunnels to each facade. A tunnel is an HTTP/1.1 upgrade on the same port as the agents' sessions, with
 * the same certificates.
 */
function tunnelRoutes(facades: readonly HostPort[]): Message[] {
  return facades.map((_, number) => ({
    match: {
      path: `${TUNNEL_PATH}${number}`,
      headers: [{ name: 'upgrade', string_match: { exact: TUNNEL_PROTOCOL, ignore_case: true } }],
    },
    route: {
      cluster: tunnelCluster(number),
      timeout: '0s',
      idle_timeout: '0s',
      upgrade_configs: [{ upgrade_type: TUNNEL_PROTOCOL }],
    },
    response_headers_to_add: [
      {
        header: { key: TUNNEL_COUNT_HEADER, value: String(facades.length) },
        append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
      },
    ],
  }));
}

interface GrpcListener {
  name: string;
  address: HostPort;
  cluster: string;
  /** Path prefixes of the services that are available there. */
  prefixes: readonly string[];
}

function grpcListener(config: EdgeConfig, { name, address, cluster, prefixes }: GrpcListener): Message {
  const isAgents = cluster === CLUSTERS.coreAgents;
  const clients = isAgents && config.agentClients !== undefined;
  // An agent reopens its session by itself.
  const retries = isAgents ? {} : { retry_policy: amongReplicas(config.cores.length) };
  const route = {
    cluster,
    timeout: '0s',
    idle_timeout: '0s',
    max_stream_duration: { max_stream_duration: '0s' },
    ...retries,
  };
  // Agents have a listener of their own, perhaps with certificates, which must not be bypassed.
  const special = isAgents
    ? tunnelRoutes(config.facades)
    : [{ match: { prefix: AGENT_SERVICE, grpc: {} }, direct_response: { status: 404 } }];
  const filter = httpManager({
    name,
    trustedProxies: config.trustedProxies,
    accessLog: config.accessLog,
    silenceMs: 0,
    filters: [],
    virtualHosts: [
      {
        name,
        domains: ['*'],
        routes: [...special, ...prefixes.map((prefix) => ({ match: { prefix, grpc: {} }, route }))],
      },
    ],
    more: {
      codec_type: isAgents ? 'AUTO' : 'HTTP2',
      http2_protocol_options: {
        max_concurrent_streams: 1_024,
        initial_stream_window_size: CORE_WINDOW_BYTES,
        initial_connection_window_size: CORE_CONNECTION_WINDOW_BYTES,
        connection_keepalive: { interval: duration(PING_MS), timeout: duration(PING_ANSWER_MS) },
      },
      ...(clients
        ? { forward_client_cert_details: 'SANITIZE_SET', set_current_client_cert_details: { uri: true } }
        : {}),
    },
  });
  return listener(
    name,
    address,
    filter,
    config.certificate ? serverTls(config.dataDir, { alpn: isAgents ? ['h2', 'http/1.1'] : ['h2'], clients }) : {},
  );
}

/** Returns the filter that passes bytes on to core: TLS of a machine that joins by a token ends there. */
function passedOn(): Message {
  return {
    name: 'tcp',
    typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: 'join',
      cluster: CLUSTERS.coreJoined,
      max_connect_attempts: 3,
      idle_timeout: duration(JOIN_IDLE_MS),
    }),
  };
}

/** Exposes Envoy's metrics and nothing else. Its admin interface stays on its Unix socket. */
function metricsListener(address: HostPort): Message {
  const filter = httpManager({
    name: 'metrics',
    trustedProxies: 0,
    accessLog: false,
    silenceMs: 10_000,
    filters: [],
    virtualHosts: [
      {
        name: 'metrics',
        domains: ['*'],
        routes: [
          { match: { path: METRICS_PATH }, route: { cluster: CLUSTERS.admin, prefix_rewrite: '/stats/prometheus' } },
        ],
      },
    ],
  });
  return listener('metrics', address, filter, {});
}

function listener(name: string, address: HostPort, filter: Message, tls: Message): Message {
  return {
    name,
    address: socketAddress(address),
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    filter_chains: [{ ...tls, filters: [filter] }],
  };
}

function readiness(): Message {
  return {
    name: 'readiness',
    typed_config: typed('envoy.extensions.filters.http.health_check.v3.HealthCheck', {
      pass_through_mode: false,
      headers: [{ name: ':path', string_match: { exact: EDGE_READY_PATH } }],
      cluster_min_healthy_percentages: { [CLUSTERS.facades]: { value: 1 } },
    }),
  };
}

/**
 * Limits requests by client address in each edge. This is a coarse limit; the facade has the fair limits, by account.
 */
function floodGuard(requests: number): Message {
  const always = { default_value: { numerator: 100 } };
  const bucket = { max_tokens: requests, tokens_per_fill: requests, fill_interval: duration(FLOOD_WINDOW_MS) };
  return {
    name: FLOOD_GUARD,
    typed_config: typed('envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', {
      stat_prefix: 'flood',
      filter_enabled: always,
      filter_enforced: always,
      status: { code: 429 },
      // For requests that match no descriptor. There are none.
      token_bucket: { max_tokens: 4_294_967_295, tokens_per_fill: 4_294_967_295, fill_interval: '1s' },
      max_dynamic_descriptors: ADDRESSES_MAX,
      rate_limits: [{ actions: [{ masked_remote_address: CLIENT_NETWORK }] }],
      descriptors: [{ entries: [{ key: 'masked_remote_address' }], token_bucket: bucket }],
    }),
  };
}
