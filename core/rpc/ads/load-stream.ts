/**
 * One Envoy's load reports: the number of current requests of each worker, once a second. Load-balancing endpoints are
 * scaled by them.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { endpointOfCluster } from '@slipway/kit/net/edge-authorizer';
import type { ClusterStats } from '@slipway/proto/gen/envoy/config/endpoint/v3/endpoint';
import type { LoadStatsRequest, LoadStatsResponse } from '@slipway/proto/gen/envoy/service/load_stats/v3/lrs';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { BackendDirectory } from '../../edge/backend-directory.ts';
import type { DemandWriter } from '../../edge/demand-writer.ts';
import type { Demand } from '../../store/machines/edge-store.ts';

/** A stream of the service. */
type LoadCall = ServerDuplexStream<LoadStatsRequest, LoadStatsResponse>;

interface LoadParts {
  directory: BackendDirectory;
  demands: DemandWriter;
  /** Identifies this stream if the Envoy does not identify itself. */
  streamId: string;
}

/** Form of the id of an Envoy of `slipway edge` (edge/envoy-config/bootstrap.ts). */
const INSTANCE = /^[\w-]{16,64}$/;
/** Priority of workers. Activators report their own requests. */
const WORKERS = 0;

export class LoadStream {
  readonly #call: LoadCall;
  readonly #parts: LoadParts;
  /** Endpoints whose last report was not zero: the end of their last request must be reported too. */
  #busy = new Set<string>();
  #reporter: string;
  #asked = false;
  /** True until the first report, which replaces everything that the Envoy reported on other streams. */
  #isFirst = true;
  readonly #end: () => void;

  constructor(call: LoadCall, parts: LoadParts, onEnd: () => void) {
    this.#call = call;
    this.#parts = parts;
    this.#reporter = `edge ${parts.streamId}`;
    const off = parts.directory.listen(() => undefined);
    // Its last report stays valid until it reconnects or the report expires: the end of the stream does not mean that
    // its requests have ended.
    this.#end = () => {
      off();
      onEnd();
    };
    call.on('data', (request: LoadStatsRequest) => this.#take(request));
    call.on('end', () => call.end());
    for (const event of ['cancelled', 'error', 'close']) call.on(event, () => this.#end());
  }

  /** Ends the stream. The Envoy then reports to another replica. */
  close(): void {
    this.#call.end();
  }

  #take({ node, clusterStats }: LoadStatsRequest): void {
    if (!this.#asked) {
      this.#asked = true;
      const instance: unknown = node?.metadata?.['instance'];
      if (typeof instance === 'string' && INSTANCE.test(instance)) this.#reporter = `edge ${instance}`;
      const loadReportingInterval = { seconds: LINK_TIMERS.loadReportMs / 1_000, nanos: 0 };
      this.#call.write({ clusters: [], sendAllClusters: true, reportEndpointGranularity: true, loadReportingInterval });
      return;
    }
    // Addresses cannot be mapped to workers yet; the next report comes soon.
    if (!this.#parts.directory.loaded) return;
    const demands = this.#demandsOf(clusterStats);
    const busy = new Set(demands.map(({ endpointId }) => endpointId));
    if (this.#isFirst) this.#parts.demands.replace(this.#reporter, demands);
    else
      for (const demand of [...demands, ...[...this.#busy].filter((id) => !busy.has(id)).map((id) => this.#demand(id))])
        this.#parts.demands.add(demand);
    this.#isFirst = false;
    this.#busy = busy;
  }

  /** Returns the demands of the endpoints with requests. */
  #demandsOf(clusterStats: readonly ClusterStats[]): Demand[] {
    const { endpoints } = this.#parts.directory;
    return clusterStats.flatMap((stats) => {
      const endpointId = endpointOfCluster(stats.clusterName);
      const endpoint = endpointId === undefined ? undefined : endpoints.get(endpointId);
      if (!endpoint) return [];
      const inFlight = inFlightOf(stats, new Map(endpoint.workers.map(({ id, address }) => [address, id])));
      return inFlight.size === 0 ? [] : [this.#demand(endpoint.endpointId, inFlight)];
    });
  }

  #demand(endpointId: string, inFlight: ReadonlyMap<string, number> = new Map()): Demand {
    return { endpointId, reporter: this.#reporter, waiting: 0, inFlight };
  }
}

/** Returns the requests by worker. Addresses that no worker has any more are left out. */
function inFlightOf(
  { upstreamLocalityStats }: ClusterStats,
  workers: ReadonlyMap<string, string>,
): Map<string, number> {
  const inFlight = new Map<string, number>();
  for (const { priority, upstreamEndpointStats } of upstreamLocalityStats) {
    if (priority !== WORKERS) continue;
    for (const { address, totalRequestsInProgress: count } of upstreamEndpointStats) {
      const socket = address?.address?.value;
      if (!socket || count === 0) continue;
      const port = socket.portSpecifier?.value ?? 0;
      const worker = workers.get(
        socket.address.includes(':') ? `[${socket.address}]:${port}` : `${socket.address}:${port}`,
      );
      if (worker !== undefined) inFlight.set(worker, (inFlight.get(worker) ?? 0) + count);
    }
  }
  return inFlight;
}
