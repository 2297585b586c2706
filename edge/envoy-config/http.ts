/**
 * The HTTP connection manager that all listeners share. It decides what is accepted of a request before any route sees
 * it.
 */

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

/** Settings that differ between listeners. */
interface HttpOptions {
  /** Name in its statistics. */
  name: string;
  /** Number of proxies in front whose information about the client's address is trusted. */
  trustedProxies: number;
  accessLog: boolean;
  /** Further access logs. */
  logs?: Message[];
  /** Longest silence on a request in milliseconds. 0: no limit. A route may override it. */
  silenceMs: number;
  filters: Message[];
  /** Filters of upstream requests, the codec last. Empty: Envoy's default. */
  upstreamFilters?: Message[];
  virtualHosts: Message[];
  /**
   * The only protocol that clients may upgrade to; requests for any other are treated as ordinary requests. `undefined`
   * if the routes say which upgrades are allowed and all others are rejected.
   */
  onlyUpgrade?: string;
  /** Further fields of this connection manager. */
  more?: Message;
}

const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
/** Headers that only our own parts set. They are removed from clients' requests before any filter or route. */
const OWN_HEADERS = ['x-slipway-', 'x-envoy-'];
/** Headers that are accepted from a proxy in front only. */
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
  logs = [],
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
      // No address makes a client internal: no client may send x-envoy-* headers.
      internal_address_config: { cidr_ranges: [] },
      // A path stays as its client wrote it: it may be a worker's own path, and the owner of a request must not depend
      // on how an edge reads its path. Nothing is permitted because of how its path looks.
      normalize_path: false,
      // An escaped slash is part of a name, for instance a model's.
      path_with_escaped_slashes_action: 'KEEP_UNCHANGED',
      max_request_headers_kb: HEADERS_KIB_MAX,
      request_headers_timeout: duration(HEADERS_MS),
      stream_idle_timeout: duration(silenceMs),
      common_http_protocol_options: {
        idle_timeout: duration(CLIENT_IDLE_MS),
        max_headers_count: HTTP_HEADERS_MAX,
        // A worker behind WSGI would read x_slipway_account as x-slipway-account.
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
      // The facade decides whether it wants a body.
      proxy_100_continue: true,
      server_header_transformation: 'PASS_THROUGH',
      strip_trailing_host_dot: true,
      early_header_mutation_extensions: [dropHeaders(trustedProxies)],
      access_log: [...accessLogs(accessLog), ...logs],
      route_config: { name, ignore_port_in_host_matching: true, virtual_hosts: virtualHosts },
      http_filters: [
        ...filters,
        { name: 'router', typed_config: typed('envoy.extensions.filters.http.router.v3.Router', router) },
      ],
      ...more,
    }),
  };
}
