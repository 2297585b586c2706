/**
 * The path of requests to load-balancing endpoints straight to their workers. Envoy asks an authorizer before it reads
 * a body (ext_authz, facades/edge-authorizer.ts, or a facade). If that names a cluster, the request goes to it, else to
 * a facade. Clusters come from core. Their second choice is activators, which read the cluster's metadata. Requests of
 * a cluster that Envoy does not have yet also go to activators.
 */
import { ACTIVATION_HEADER, ACTIVATION_METADATA, EDGE_HEADER, EDGE_METADATA } from '@slipway/kit/net/activation';
import {
  AUTHORIZE_PATH,
  CLUSTER_HEADER,
  EDGE_KEY_HEADER,
  FULL_HEADER,
  PATH_HEADER,
  TIMEOUT_HEADER,
} from '@slipway/kit/net/edge-authorizer';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { Message } from '../message.ts';
import { duration, typed } from '../message.ts';
import { CLUSTERS, UPSTREAM_CODEC } from './clusters.ts';
import {
  ANNOUNCED_PAUSE_MS,
  ANNOUNCED_TRIES,
  AUTHORIZE_GRPC_MS,
  AUTHORIZE_MS,
  DIRECT_ANSWER_MS,
  REQUEST_SILENCE_MS,
} from './limits.ts';
import { above } from './regex.ts';
import { asking, beforeFacades, untilAnnounced } from './retries.ts';
import { patchesAnswers, workerAnswersFilter } from './worker-answers.ts';

const FILTERS = 'envoy.extensions.filters.http';
const AUTHORIZER = 'authorizer';
const ANSWER_SIZE = 'answer_size';
const REQUEST_SIZE = 'request_size';
const OFF = typed('envoy.config.route.v3.FilterConfig', { disabled: true });
/**
 * Matches bodies that are too large. A facade reads such a body before it rejects the request. Envoy would end the
 * connection while the client still sends.
 */
const TOO_LARGE: Message = {
  name: 'content-length',
  string_match: { safe_regex: { regex: above(LB_BODY_BYTES_MAX) } },
};
/** Where Envoy keeps the authorizer's answer. */
const AUTHORIZER_METADATA = 'envoy.filters.http.ext_authz';
const WORKER_HEADER = 'x-runpod-worker-id';

/**
 * Paths of the operations of queue-based endpoints, for which no authorizer needs to be asked. A path that is missing
 * here is authorized, with the same result.
 */
const QUEUE_OPERATION =
  '/v2/[^/]+/(run|runsync|purge-queue|health|requests|(status|status-sync|stream|cancel|retry)/[^/]+)/?';
/** Pattern of the host form. Only the facades know which domains there are. */
const HOST_FORM = '[a-zA-Z0-9]{14}\\..*';

/**
 * Matches requests that consist of headers only. If the first worker says that it is full, another worker may get such
 * a request.
 */
const WITHOUT_BODY: readonly Message[] = [
  { name: ':method', string_match: { safe_regex: { regex: 'GET|HEAD|OPTIONS' } } },
  ...['content-length', 'transfer-encoding'].map((name) => ({ name, present_match: true, invert_match: true })),
];
/**
 * Chooses the cluster that the authorizer has named. If Envoy does not know it, chooses an activator, provided that an
 * activator can serve the request.
 */
const BY_CLUSTER = `
function envoy_on_route(handle)
  local name = handle:headers():get("${CLUSTER_HEADER}")
  if handle:getCluster(name) == nil and handle:headers():get("${ACTIVATION_HEADER}") ~= nil then
    return "${CLUSTERS.activators}"
  end
  return name
end`;
const FULL: Message = {
  retry_on: 'connect-failure,refused-stream,retriable-headers',
  retriable_headers: [{ name: FULL_HEADER, present_match: true }],
};
/**
 * Retries of a gRPC call until core has sent its worker. When a worker becomes ready, core notifies facades and edges
 * at the same time, so a call that waited at the authorizer may get here first. Until then its cluster holds only an
 * address without a listener (core/rpc/ads/snapshot.ts), and nothing of the call has been sent.
 */
const UNTIL_ANNOUNCED = untilAnnounced(ANNOUNCED_TRIES, ANNOUNCED_PAUSE_MS);
/** Matches gRPC calls, which wait at the authorizer for a worker. */
const GRPC: Message = { name: 'content-type', string_match: { prefix: 'application/grpc' } };
/** Default times. The authorizer says how long the answer may take. */
const DIRECT_TIMES: Message = { timeout: duration(DIRECT_ANSWER_MS), idle_timeout: duration(REQUEST_SILENCE_MS) };

/** Matches local replies to requests on the direct path. */
export const ON_DIRECT_WAY: Message = {
  metadata_filter: {
    matcher: { filter: AUTHORIZER_METADATA, path: [{ key: CLUSTER_HEADER }], value: { present_match: true } },
    match_if_key_not_found: false,
  },
};

/** Settings that differ between edges. */
interface DirectWay {
  edgeKey: string;
  /** Number of facades. */
  facades: number;
}

/** Returns the filters of a listener, in their order. */
export function directFilters(way: DirectWay): Message[] {
  return [
    // No other surface takes bodies this large, so one limit applies to all. Chunked bodies are cut off at it.
    {
      name: REQUEST_SIZE,
      typed_config: typed(`${FILTERS}.body_size_limit.v3.BodySizeLimit`, { max_request_bytes: LB_BODY_BYTES_MAX }),
    },
    {
      name: AUTHORIZER,
      typed_config: typed(`${FILTERS}.ext_authz.v3.ExtAuthz`, {
        transport_api_version: 'V3',
        clear_route_cache: true,
        status_on_error: { code: 'ServiceUnavailable' },
        allowed_headers: exactly(
          'upgrade',
          'content-type',
          'x-forwarded-host',
          'origin',
          'access-control-request-method',
          'cookie',
          WORKER_HEADER,
        ),
        http_service: authorizer(way, AUTHORIZE_MS),
      }),
    },
    { name: ANSWER_SIZE, typed_config: typed(`${FILTERS}.custom_response.v3.CustomResponse`) },
    workerAnswersFilter(),
  ];
}

function authorizer({ edgeKey, facades }: DirectWay, timeoutMs: number): Message {
  return {
    server_uri: { uri: 'http://authorizer.invalid', cluster: CLUSTERS.authorizers, timeout: duration(timeoutMs) },
    path_prefix: AUTHORIZE_PATH,
    authorization_request: { headers_to_add: [{ key: EDGE_KEY_HEADER, value: edgeKey }] },
    authorization_response: {
      allowed_upstream_headers: exactly(
        CLUSTER_HEADER,
        PATH_HEADER,
        ACTIVATION_HEADER,
        TIMEOUT_HEADER,
        'x-forwarded-host',
        'x-forwarded-prefix',
      ),
      dynamic_metadata_from_headers: exactly(CLUSTER_HEADER),
    },
    // Asking changes nothing, so it can be repeated.
    retry_policy: asking(facades),
  };
}

/**
 * Returns the filters of requests to workers and facades. They drop our own headers, tell an activator whose request it
 * is, and prove to a facade who sends it.
 */
export function upstreamFilters(): Message[] {
  return [
    {
      name: 'own_headers',
      typed_config: typed(`${FILTERS}.header_mutation.v3.HeaderMutation`, {
        mutations: {
          request_mutations: [
            ...['x-slipway-', 'x-envoy-'].map((prefix) => ({ remove_on_match: { key_matcher: { prefix } } })),
            ...[
              [ACTIVATION_HEADER, ACTIVATION_METADATA],
              [EDGE_HEADER, EDGE_METADATA],
            ].map(([key, metadata]) => ({
              append: {
                header: { key, value: `%UPSTREAM_METADATA(envoy.lb:${metadata})%` },
                append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
              },
            })),
          ],
        },
      }),
    },
    UPSTREAM_CODEC,
  ];
}

/**
 * Returns all routes, with those of the direct path before `rest`. `rest` are the routes to facades; requests that may
 * be for a load-balancing endpoint are authorized first.
 */
export function directRoutes(rest: readonly Message[], way: DirectWay): Message[] {
  const host = { name: ':authority', string_match: { safe_regex: { regex: HOST_FORM } } };
  return [
    ...rest.map((route) => unasked(withHeader(route, TOO_LARGE), { [REQUEST_SIZE]: OFF })),
    directRoute(WITHOUT_BODY, beforeFacades(way.facades, FULL)),
    directRoute([GRPC], UNTIL_ANNOUNCED),
    directRoute([], beforeFacades(way.facades)),
    ...rest.map((route) => askedForLong(withHeader(withHeader(route, host), GRPC), way)),
    ...rest.map((route) => withHeader(route, host)),
    ...rest.map((route) => unasked(withPath(route, { safe_regex: { regex: QUEUE_OPERATION } }))),
    ...rest.map((route) => withPath(route, { prefix: '/v2/' })),
    ...rest.map((route) => unasked(route)),
  ];
}

function directRoute(headers: readonly Message[], retries: Message): Message {
  return {
    match: { prefix: '/', headers: [{ name: CLUSTER_HEADER, present_match: true }, ...headers] },
    route: {
      inline_cluster_specifier_plugin: {
        extension: {
          name: 'by_cluster',
          typed_config: typed('envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig', {
            source_code: { inline_string: BY_CLUSTER },
            default_cluster: CLUSTERS.activators,
          }),
        },
      },
      cluster_not_found_response_code: 'SERVICE_UNAVAILABLE',
      path_rewrite: `%REQ(${PATH_HEADER})%`,
      ...DIRECT_TIMES,
      // If the connection is refused, nothing was sent. An activator then finds another worker or waits for one.
      retry_policy: retries,
    },
    request_headers_to_remove: ['authorization'],
    // An activator names the worker itself and has no such metadata.
    response_headers_to_add: [
      {
        header: { key: WORKER_HEADER, value: '%UPSTREAM_METADATA(envoy.lb:worker)%' },
        append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
      },
    ],
    typed_per_filter_config: { [ANSWER_SIZE]: tooLargeAnswers(), ...patchesAnswers() },
  };
}

/**
 * Replaces an answer with status 413 if its length says that it is too large. An answer without a length can no longer
 * be replaced once it turns out to be too large.
 */
function tooLargeAnswers(): Message {
  const input = {
    name: 'length',
    typed_config: typed('envoy.type.matcher.v3.HttpResponseHeaderMatchInput', { header_name: 'content-length' }),
  };
  const reject = typed('envoy.extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy', {
    status_code: 413,
  });
  return typed(`${FILTERS}.custom_response.v3.CustomResponse`, {
    custom_response_matcher: {
      matcher_list: {
        matchers: [
          {
            predicate: {
              single_predicate: {
                input,
                value_match: { safe_regex: { google_re2: {}, regex: above(LB_BODY_BYTES_MAX) } },
              },
            },
            on_match: { action: { name: 'refuse', typed_config: reject } },
          },
        ],
      },
    },
  });
}

function askedForLong(route: Message, way: DirectWay): Message {
  const settings = { check_settings: { http_service: authorizer(way, AUTHORIZE_GRPC_MS) } };
  return {
    ...route,
    typed_per_filter_config: { [AUTHORIZER]: typed(`${FILTERS}.ext_authz.v3.ExtAuthzPerRoute`, settings) },
  };
}

function unasked(route: Message, more: Message = {}): Message {
  return {
    ...route,
    typed_per_filter_config: {
      ...more,
      [AUTHORIZER]: typed(`${FILTERS}.ext_authz.v3.ExtAuthzPerRoute`, { disabled: true }),
    },
  };
}

function withHeader(route: Message, header: Message): Message {
  const match = route['match'] as Message;
  return { ...route, match: { ...match, headers: [...((match['headers'] as Message[] | undefined) ?? []), header] } };
}

function withPath(route: Message, path: Message): Message {
  const { prefix: _any, ...match } = route['match'] as Message;
  return { ...route, match: { ...match, ...path } };
}

function exactly(...names: string[]): Message {
  return { patterns: names.map((exact) => ({ exact })) };
}
