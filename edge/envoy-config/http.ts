/** The HTTP connection manager that all listeners share: what is taken of a request before any route sees it. */

import { HTTP_HEADERS_MAX } from '@slipway/proto/wire/limits';
import type { Message } from '../message.ts';
import { duration, typed } from '../message.ts';
import { accessLogs } from './access-log.ts';
import {
  CLIENT_CONNECTION_WINDOW_BYTES,
  CLIENT_IDLE_MS,
  CLIENT_STREAMS_MAX,
  CLIENT_WINDOW_BYTES,
  HEADERS_KIB_MAX,
  HEADERS_MS,
} from './limits.ts';
import { otherThan } from './regex.ts';

/** What differs between listeners. */
export interface HttpOptions {
  /** In the names of its statistics. */
  name: string;
  /** Proxies before it whose word on the client's address counts. */
  trustedProxies: number;
  accessLog: boolean;
  /** Longest silence on a request in milliseconds; 0: none. A route may say otherwise. */
  silenceMs: number;
  filters: Message[];
  /** Of what is sent on, the last of them the codec; none: as Envoy has it. */
  upstreamFilters?: Message[];
  virtualHosts: Message[];
  /**
   * Who asks for another protocol than this one asks for none; undefined: the routes say what may be asked for, and all
   * else is refused.
   */
  onlyUpgrade?: string;
  /** Fields of its own. */
  more?: Message;
}

const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
/** Headers that only our own parts set: those of clients are dropped before any filter or route sees them. */
const OWN_HEADERS = ['x-slipway-', 'x-envoy-'];
/** What only a proxy in front may say. */
const PROXY_HEADERS = ['x-forwarded-host', 'x-forwarded-prefix', 'x-forwarded-port', 'forwarded', 'x-real-ip'];

/** Returns the mutation that drops headers which clients must not set, by the start of their names. */
function dropHeaders(trustedProxies: number): Message {
  const prefixes = [...OWN_HEADERS, ...(trustedProxies === 0 ? PROXY_HEADERS : [])];
  return {
    name: 'own',
    typed_config: typed('envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation', {
      mutations: prefixes.map((prefix) => ({ remove_on_match: { key_matcher: { prefix, ignore_case: true } } })),
    }),
  };
}

/** Returns the HTTP connection manager, the only network filter of a filter chain. */
export function httpManager({
  name,
  trustedProxies,
  accessLog,
  silenceMs,
  filters,
  upstreamFilters = [],
  virtualHosts,
  onlyUpgrade,
  more = {},
}: HttpOptions): Message {
  const router = {
    suppress_envoy_headers: true,
    ...(upstreamFilters.length > 0 ? { upstream_http_filters: upstreamFilters } : {}),
  };
  return {
    name: 'http',
    typed_config: typed(MANAGER, {
      stat_prefix: name,
      codec_type: 'AUTO',
      use_remote_address: true,
      xff_num_trusted_hops: trustedProxies,
      // No address makes a client one of us: x-envoy-* headers are nobody's to send.
      internal_address_config: { cidr_ranges: [] },
      // A path is as its client wrote it: it may be a worker's own, and whose request it is must not depend on an edge.
      // Nothing is permitted by its look.
      normalize_path: false,
      // An escaped slash is part of a name, a model's, say.
      path_with_escaped_slashes_action: 'KEEP_UNCHANGED',
      max_request_headers_kb: HEADERS_KIB_MAX,
      request_headers_timeout: duration(HEADERS_MS),
      stream_idle_timeout: duration(silenceMs),
      common_http_protocol_options: {
        idle_timeout: duration(CLIENT_IDLE_MS),
        max_headers_count: HTTP_HEADERS_MAX,
        // x_slipway_account would be x-slipway-account to a worker behind WSGI.
        headers_with_underscores_action: 'DROP_HEADER',
      },
      http_protocol_options: {
        accept_http_10: true,
        default_host_for_http_10: 'none.invalid',
        enable_trailers: true,
        allow_custom_methods: true,
        ...(onlyUpgrade === undefined
          ? {}
          : { ignore_http_11_upgrade: [{ safe_regex: { regex: otherThan(onlyUpgrade) } }] }),
      },
      http2_protocol_options: {
        max_concurrent_streams: CLIENT_STREAMS_MAX,
        initial_stream_window_size: CLIENT_WINDOW_BYTES,
        initial_connection_window_size: CLIENT_CONNECTION_WINDOW_BYTES,
      },
      // Whether a body is wanted is the facade's to say.
      proxy_100_continue: true,
      server_header_transformation: 'PASS_THROUGH',
      strip_trailing_host_dot: true,
      early_header_mutation_extensions: [dropHeaders(trustedProxies)],
      access_log: accessLogs(accessLog),
      route_config: { name, ignore_port_in_host_matching: true, virtual_hosts: virtualHosts },
      http_filters: [
        ...filters,
        { name: 'router', typed_config: typed('envoy.extensions.filters.http.router.v3.Router', router) },
      ],
      ...more,
    }),
  };
}
