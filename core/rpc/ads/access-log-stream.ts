/**
 * One Envoy's access log of requests that went straight to workers of load-balancing endpoints. What went through an
 * activator is counted there and left out here.
 */
import type { ServerReadableStream } from '@grpc/grpc-js';
import { endpointOfCluster } from '@slipway/kit/net/edge-authorizer';
import type { RequestOutcome } from '@slipway/kit/observe/request-counts';
import { countRequest, FAILED_PATH_LENGTH_MAX, noRequests, outcomeOf } from '@slipway/kit/observe/request-counts';
import type { Clock } from '@slipway/kit/time/clock';
import { RequestMethod } from '@slipway/proto/gen/envoy/config/core/v3/core';
import type {
  AccessLogCommon,
  HTTPAccessLogEntry,
  ResponseFlags,
} from '@slipway/proto/gen/envoy/data/accesslog/v3/accesslog';
import type {
  StreamAccessLogsMessage,
  StreamAccessLogsResponse,
} from '@slipway/proto/gen/envoy/service/accesslog/v3/als';
import type { Duration } from '@slipway/proto/gen/google/protobuf/duration';
import type { BackendDirectory } from '../../edge/backend-directory.ts';
import type { RequestMeter } from '../../edge/request-meter.ts';

/** A stream of the service. */
type AccessLogCall = ServerReadableStream<StreamAccessLogsMessage, StreamAccessLogsResponse>;

interface AccessLogParts {
  directory: BackendDirectory;
  requests: RequestMeter;
  clock: Clock;
}

export class AccessLogStream {
  readonly #parts: AccessLogParts;
  readonly #finish: () => void;
  #finished = false;
  /** Addresses of activators. They count their requests themselves. */
  #activators = new Set<unknown>();

  /** `finish` answers the call. */
  constructor(call: AccessLogCall, parts: AccessLogParts, finish: () => void, onEnd: () => void) {
    this.#parts = parts;
    this.#finish = finish;
    const off = parts.directory.listen(() => undefined);
    const end = (): void => {
      off();
      onEnd();
    };
    call.on('data', ({ identifier, logEntries }: StreamAccessLogsMessage) => {
      const activators: unknown = identifier?.node?.metadata?.['activators'];
      if (Array.isArray(activators)) this.#activators = new Set(activators);
      if (logEntries?.$case === 'httpLogs') for (const entry of logEntries.value.logEntry) this.#take(entry);
    });
    call.on('end', () => this.close());
    for (const event of ['cancelled', 'error', 'close']) call.on(event, end);
  }

  /** Ends the stream. The Envoy then reports to another replica. */
  close(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#finish();
  }

  #take({ commonProperties, request, response }: HTTPAccessLogEntry): void {
    const { directory, requests, clock } = this.#parts;
    const endpointId = endpointOfCluster(commonProperties?.upstreamCluster ?? '');
    const endpoint = endpointId === undefined ? undefined : directory.endpoints.get(endpointId);
    if (!endpoint || !commonProperties || !request || !response) return;
    const address = addressOf(commonProperties);
    const worker = endpoint.workers.find((each) => each.address === address);
    if (this.#activators.has(address)) return;
    const status = response.responseCode ?? 0;
    const flags = commonProperties.responseFlags;
    const outcome = outcomeOfEntry(status, flags);
    const durationMs = millisecondsOf(commonProperties.duration);
    const counts = noRequests();
    countRequest(counts, {
      outcome,
      bytesIn: request.requestBodyBytes,
      bytesOut: response.responseBodyBytes,
      durationMs,
    });
    const workerId = worker?.id ?? '';
    requests.add(endpoint.endpointId, workerId, counts);
    if (outcome !== 'SERVER_ERROR' && outcome !== 'BROKEN') return;
    const [path = '', query] = request.path.split('?', 2);
    requests.fail(endpoint.endpointId, {
      atMs: clock.nowMs(),
      method: Object.entries(RequestMethod).find(([, value]) => value === request.requestMethod)?.[0] ?? '',
      path: path.slice(0, FAILED_PATH_LENGTH_MAX),
      hasQuery: query !== undefined,
      status: outcome === 'BROKEN' ? 0 : status,
      durationMs,
      workerId,
      cause: response.responseCodeDetails === 'via_upstream' ? '' : response.responseCodeDetails.slice(0, 64),
    });
  }
}

/** Returns the address of the upstream as host:port. Empty if none was reached. */
function addressOf({ upstreamRemoteAddress }: AccessLogCommon): string {
  const socket = upstreamRemoteAddress?.address?.value;
  if (!socket) return '';
  const port = socket.portSpecifier?.value ?? 0;
  return socket.address.includes(':') ? `[${socket.address}]:${port}` : `${socket.address}:${port}`;
}

/** Returns the outcome. Flags say how a response ended that had begun with another status. */
function outcomeOfEntry(status: number, flags: ResponseFlags | undefined): RequestOutcome {
  if (flags?.downstreamConnectionTermination === true || status === 0) return 'ABANDONED';
  const isCut =
    flags?.upstreamRemoteReset === true ||
    flags?.upstreamConnectionTermination === true ||
    flags?.upstreamRequestTimeout === true;
  return isCut && status < 500 ? 'BROKEN' : outcomeOf(status);
}

function millisecondsOf(duration: Duration | undefined): number {
  return duration ? Math.max(Math.round(duration.seconds * 1_000 + duration.nanos / 1_000_000), 0) : 0;
}
