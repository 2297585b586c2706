/**
 * The complete configuration of one Envoy, made from the edge's settings and the project's limits. A pure function: the
 * same settings give the same text.
 */
import { isIP } from 'node:net';
import { userAgentOf } from '@slipway/kit/host/part-version';
import type { EdgeConfig } from '../config.ts';
import { adminSocket, authorizerSocket } from '../config.ts';
import { EDGE_VERSION } from '../edge-version.ts';
import type { Message } from '../message.ts';
import { duration, hostPortText, typed } from '../message.ts';
import { CLUSTERS, clusters } from './clusters.ts';
import { TOLD_FIRST_MS } from './limits.ts';
import { listeners } from './listeners.ts';

/**
 * Statistics that are kept: requests, connections and health by listener and cluster, the control plane, and memory.
 */
const STATS = [
  {
    safe_regex: {
      regex: 'http\\.[a-z_]+\\.(downstream_(rq|cx)_(active|total|timeout|idle_timeout|overload_close)|no_route)',
    },
  },
  { safe_regex: { regex: 'http\\.[a-z_]+\\.downstream_rq_([1-5]xx|time)' } },
  {
    safe_regex: {
      regex:
        'cluster\\.[a-z_]+\\.(upstream_(rq|cx)_(active|total|connect_fail|timeout|retry)|upstream_rq_[1-5]xx|' +
        'membership_(healthy|total))',
    },
  },
  // Two statistics for each endpoint, as there are thousands. Core knows what is in flight, and where.
  { safe_regex: { regex: 'cluster\\.ep-[^.]+\\.upstream_rq_(total|5xx)' } },
  { prefix: 'cluster_manager.' },
  { prefix: 'listener_manager.' },
  { prefix: 'control_plane.' },
  { prefix: 'sds.' },
  { prefix: 'flood.' },
  { prefix: 'overload.' },
  { prefix: 'server.' },
];
const MIB = 1024 * 1024;
const RESOURCE_MONITORS = 'envoy.extensions.resource_monitors';

/**
 * Returns the configuration as an envoy.config.bootstrap.v3.Bootstrap. `epoch`: number of this Envoy in its series of
 * hot restarts. `instance`: distinguishes this Envoy from all others, so that core recognises its reports on a new
 * stream. Empty if many Envoys may run with this configuration.
 */
export function bootstrap(config: EdgeConfig, epoch: number, instance = ''): Message {
  const adminSocketFile = adminSocket(config.dataDir, epoch);
  const authorizerSocketFile = authorizerSocket(config.dataDir, epoch);
  return {
    // Facades take the requests that no worker can take yet.
    node: {
      id: config.name,
      cluster: 'slipway-edge',
      metadata: {
        activators: config.facades.filter(({ host }) => isIP(host) !== 0).map(hostPortText),
        ...(instance === '' ? {} : { instance }),
      },
    },
    ...(config.edgeKey === '' ? {} : controlPlane(config.edgeKey)),
    // Only users who may open the edge's folder can reach it.
    admin: { address: { pipe: { path: adminSocketFile, mode: 0o600 } } },
    stats_config: { stats_matcher: { inclusion_list: { patterns: STATS } } },
    overload_manager: overload(config),
    static_resources: {
      clusters: clusters({ ...config, adminSocketFile, authorizerSocketFile }),
      listeners: listeners(config),
    },
  };
}

/**
 * Returns the configuration of the connection to core. Core sends the clusters of load-balancing endpoints and the
 * addresses of their workers, and receives how many requests each of them has.
 */
function controlPlane(edgeKey: string): Message {
  const grpcServices = [
    {
      envoy_grpc: { cluster_name: CLUSTERS.coreControl },
      initial_metadata: [
        { key: 'authorization', value: `Bearer ${edgeKey}` },
        { key: 'user-agent', value: userAgentOf({ name: 'edge', version: EDGE_VERSION }) },
      ],
    },
  ];
  return {
    dynamic_resources: {
      ads_config: {
        api_type: 'DELTA_GRPC',
        transport_api_version: 'V3',
        set_node_on_first_message_only: true,
        grpc_services: grpcServices,
      },
      // After this time Envoy starts without clusters from core. Activators serve them until core has sent them.
      cds_config: { ads: {}, resource_api_version: 'V3', initial_fetch_timeout: duration(TOLD_FIRST_MS) },
    },
    cluster_manager: {
      load_stats_config: { api_type: 'GRPC', transport_api_version: 'V3', grpc_services: grpcServices },
    },
  };
}

function overload({ memoryMib, connectionsMax }: EdgeConfig): Message {
  const heap = 'envoy.resource_monitors.fixed_heap';
  const action = (name: string, value: number): Message => ({ name, triggers: [{ name: heap, threshold: { value } }] });
  return {
    refresh_interval: '0.25s',
    resource_monitors: [
      {
        name: heap,
        typed_config: typed(`${RESOURCE_MONITORS}.fixed_heap.v3.FixedHeapConfig`, {
          max_heap_size_bytes: memoryMib * MIB,
        }),
      },
      {
        name: 'envoy.resource_monitors.global_downstream_max_connections',
        typed_config: typed(`${RESOURCE_MONITORS}.downstream_connections.v3.DownstreamConnectionsConfig`, {
          max_active_downstream_connections: connectionsMax,
        }),
      },
    ],
    actions: [
      action('envoy.overload_actions.shrink_heap', 0.9),
      action('envoy.overload_actions.disable_http_keepalive', 0.92),
      action('envoy.overload_actions.stop_accepting_requests', 0.95),
    ],
  };
}
