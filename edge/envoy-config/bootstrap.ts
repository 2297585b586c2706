/**
 * The whole configuration of one Envoy, made of the edge's settings and the project's limits. Pure: the same settings
 * give the same text.
 */
import { isIP } from 'node:net';
import type { EdgeConfig } from '../config.ts';
import { adminSocket, authorizerSocket } from '../config.ts';
import type { Message } from '../message.ts';
import { duration, hostPortText, typed } from '../message.ts';
import { CLUSTERS, clusters } from './clusters.ts';
import { TOLD_FIRST_MS } from './limits.ts';
import { listeners } from './listeners.ts';

/**
 * The numbers that are kept: requests, connections and health by listener and cluster, what the control plane says,
 * memory.
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
        'cluster\\.[a-z_]+\\.(upstream_(rq|cx)_(active|total|connect_fail|timeout|retry)|upstream_rq_[1-5]xx|membership_(healthy|total))',
    },
  },
  // Of thousands of endpoints two each; core knows what is in flight, and where.
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
 * The configuration in the form of envoy.config.bootstrap.v3.Bootstrap. `epoch`: which Envoy of a row of hot restarts
 * it is for. `instance`: tells the Envoy from all others, so that core takes what it reports on a new stream for its
 * own; empty where many may run with this configuration.
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
    // Only who may open the edge's folder reaches it.
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
 * Core says which clusters of load-balancing endpoints there are and where their workers are, and hears how many
 * requests each has.
 */
function controlPlane(edgeKey: string): Message {
  const grpcServices = [
    {
      envoy_grpc: { cluster_name: CLUSTERS.coreControl },
      initial_metadata: [{ key: 'authorization', value: `Bearer ${edgeKey}` }],
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
      // Then it begins without: activators carry what core will tell it of.
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
