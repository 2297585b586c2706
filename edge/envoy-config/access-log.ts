/**
 * A JSON line for each request, in the format of the other parts' logs. It must contain neither headers that carry a
 * key nor the query, which may contain one. So the fields are listed one by one, and nothing else of a request is ever
 * written.
 */

import type { Message } from '../message.ts';
import { typed } from '../message.ts';

const INFO = 30;

/** The access logs of a connection manager. */
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
