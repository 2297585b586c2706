/**
 * Access logs: one of all requests for operators, and one of requests that went straight to workers for core.
 *
 * The first has a JSON line for each request, in the format of the other parts' logs. It must contain neither headers
 * that carry a key nor the query, which may contain one. So the fields are listed one by one, and nothing else of a
 * request is ever written.
 */

import type { Message } from '../message.ts';
import { duration, typed } from '../message.ts';
import { CLUSTERS } from './clusters.ts';
import { ON_DIRECT_WAY } from './direct-way.ts';

const INFO = 30;
/** How long, and how many bytes of, entries for core are collected. */
const COLLECTED_MS = 2_000;
const COLLECTED_BYTES = 64 * 1024;

/** Returns the access log of requests that went straight to workers, which core counts. */
export function requestLog(edgeKey: string): Message {
  return {
    name: 'requests',
    filter: ON_DIRECT_WAY,
    typed_config: typed('envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig', {
      common_config: {
        log_name: 'requests',
        transport_api_version: 'V3',
        buffer_flush_interval: duration(COLLECTED_MS),
        buffer_size_bytes: COLLECTED_BYTES,
        grpc_service: {
          envoy_grpc: { cluster_name: CLUSTERS.coreControl },
          initial_metadata: [{ key: 'authorization', value: `Bearer ${edgeKey}` }],
        },
      },
    }),
  };
}

/** Returns the access logs of a connection manager. */
export function accessLogs(enabled: boolean): Message[] {
  if (!enabled) return [];
  const formatters = [
    { name: 'query', typed_config: typed('envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery') },
  ];
  return [
    {
      name: 'stdout',
      typed_config: typed('envoy.extensions.access_loggers.stream.v3.StdoutAccessLog', {
        log_format: {
          formatters,
          json_format: {
            level: INFO,
            time: '%START_TIME(%Y-%m-%dT%H:%M:%E3SZ)%',
            name: 'edge',
            msg: 'request',
            method: '%REQ(:METHOD)%',
            path: '%REQ_WITHOUT_QUERY(X-ENVOY-ORIGINAL-PATH?:PATH):1024%',
            host: '%REQ(:AUTHORITY):256%',
            protocol: '%PROTOCOL%',
            httpStatus: '%RESPONSE_CODE%',
            grpcStatus: '%GRPC_STATUS_NUMBER%',
            flags: '%RESPONSE_FLAGS%',
            cause: '%RESPONSE_CODE_DETAILS%',
            tookMs: '%DURATION%',
            bytesIn: '%BYTES_RECEIVED%',
            bytesOut: '%BYTES_SENT%',
            client: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
            certificate: '%DOWNSTREAM_PEER_URI_SAN%',
            upstream: '%UPSTREAM_HOST%',
            requestId: '%REQ(X-REQUEST-ID):64%',
          },
        },
      }),
    },
  ];
}
